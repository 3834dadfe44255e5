#!/usr/bin/env python3
"""test_cuda_serve.py: servelab serve over the CUDA backend on the CPU: what it says at the start, what it refuses, and how
it lives through failures of CUDA calls (SIMT_FAIL, common/simt/simt.h)."""
import ctypes
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../serve/tests"))
from harness import MODEL_FILE, SERVELAB, TOP, RealServer, equal, names, run_tests  # noqa: E402

SIMT = os.path.join(os.path.dirname(SERVELAB), "backend-simt.so")


def run(*args, **env):
    return subprocess.run([SERVELAB, "serve", "--model", MODEL_FILE, "--port", "0", "--json", *args], capture_output=True,
                          text=True, timeout=60, env={**os.environ, **env})


def refused(args, *parts, **env):
    """One line on stderr, that names the flag and says each part."""
    r = run(*args, **env)
    said = json.loads(r.stdout)["error"]
    equal((r.returncode, r.stderr.count("\n")), (2, 1), r.stderr)
    for part in parts:
        assert part in said["message"], f"{args}: {r.stderr}"
    return said["field"]


def said_until_the_end(server):
    server.stop()
    return server.process.stderr.read()


# ---- the start -------------------------------------------------------------------------------------------------------


def a_plug_in_that_cannot_be_loaded_is_named():
    missing = refused(["--backend", "simt"], "/nonexistent/x.so", "is not there", "make build", SERVELAB_SIMT="/nonexistent/x.so")
    equal(missing, "--backend")
    text = os.path.join(TOP, "Makefile")
    refused(["--backend", "simt"], text, "not a whole shared object", "make build", SERVELAB_SIMT=text)
    refused(["--backend", "cuda"], "/nonexistent/y.so", "make cuda", "--backend simt", SERVELAB_CUDA="/nonexistent/y.so")


def a_plug_in_that_would_stop_the_loader_is_refused_first():
    """A copy that was cut off (dlopen dies of SIGBUS), a header overwritten (SIGSEGV), a FIFO (dlopen waits for ever)."""
    whole = open(SIMT, "rb").read()
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "x.so")
        for bad in (whole[:4096], whole[:100], whole[:64] + b"\xff" * 64 + whole[128:], b"", None):
            if bad is None:
                os.remove(path)
                os.mkfifo(path)
            else:
                open(path, "wb").write(bad)
            equal(refused(["--backend", "simt"], path, "not a whole shared object", SERVELAB_SIMT=path), "--backend")
        refused(["--backend", "simt"], tmp, "not a whole shared object", SERVELAB_SIMT=tmp)


def a_plug_in_of_another_program_is_refused():
    other = subprocess.run(["find", "/lib", "/usr/lib", "-name", "libm.so.6"], capture_output=True, text=True).stdout.split()
    refused(["--backend", "simt"], "not of this program's build", SERVELAB_SIMT=other[0])


def a_plug_in_of_another_build_is_refused():
    """A copy whose identity has one bit changed."""
    symbol = ctypes.CDLL(SIMT).servelab_cuda_abi
    symbol.restype = ctypes.c_uint64
    whole, identity = open(SIMT, "rb").read(), struct.pack("<Q", symbol())
    equal(whole.count(identity), 1)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "x.so")
        open(path, "wb").write(whole.replace(identity, bytes([identity[0] ^ 1]) + identity[1:]))
        refused(["--backend", "simt"], path, "not of this program's build", SERVELAB_SIMT=path)


def without_proc_the_current_folder_is_not_searched():
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "noproc.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], check=True, input="#include <errno.h>\n"
                       "long readlink(const char *p, char *b, unsigned long n) { (void)p, (void)b, (void)n; errno = ENOENT; return -1; }\n",
                       text=True)
        refused(["--backend", "simt", "--model", MODEL_FILE], "SERVELAB_SIMT", "/proc", LD_PRELOAD=path, SERVELAB_SIMT="",
                ASAN_OPTIONS="verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", ""))


def without_a_driver_or_a_device_there_is_one_line():
    for error, part in ((35, "install a driver"), (100, "no CUDA-capable device")):
        refused(["--backend", "cuda"], "cudaGetDeviceCount", part, SERVELAB_CUDA=SIMT, SIMT_FAIL=f"cudaGetDeviceCount:1:{error}")


def auto_goes_on_with_the_cpu_and_says_so():
    env = {**os.environ, "SERVELAB_CUDA": SIMT, "SIMT_FAIL": "cudaGetDeviceCount:1:35"}
    with RealServer("--backend", "auto", env=env) as s:
        equal((s.ready["backend"], s.ready["precision"]), ("cpu", "exact"))
        equal(s.complete("12+30=", max_tokens=4).status, 200)
        said = said_until_the_end(s)
        assert "the CPU computes; no GPU: cudaGetDeviceCount" in said, said


def memory_that_does_not_fit_is_refused_with_its_numbers():
    refused(["--backend", "simt", "--kv-blocks", "60000000"], "GiB free", "weights ", "KV blocks 1831.05", "workspace ", "reserve ")


def flags_of_another_backend_are_refused():
    for args, flag in ((["--backend", "simt", "--precision", "fast"], "--precision"),
                       (["--backend", "cpu", "--precision", "bf16"], "--precision"),
                       (["--backend", "simt", "--kv-type", "f16"], "--kv-type"),
                       (["--backend", "cpu", "--kv-type", "int8"], "--kv-type"), (["--weights", "int8"], "--weights"),
                       (["--backend", "simt", "--precision", "exact", "--weights", "int4"], "--weights"),
                       (["--backend", "simt", "--precision", "exact", "--kv-type", "int8"], "--kv-type")):
        equal(refused(args), flag)


def quantised_weights_and_an_8_bit_cache_serve():
    with RealServer("--backend", "simt") as s:
        plain = s.ready
    for weights in ("int8", "fp8"):
        with RealServer("--backend", "simt", "--weights", weights, "--kv-type", "int8") as s:
            equal((s.ready["precision"], s.ready["kv_type"]), ("bf16", "int8"))
            equal(s.complete("12+30=", max_tokens=4).json()["choices"][0]["text"][:2], "42")
            equal(s.ready["kv_blocks"], plain["kv_blocks"])


LOG = "07:32 warn disk read 120 ms\nkey K7Q2 4815\n11:05 info cache flush ok\n"
QUESTIONS = ["add 12 and 30>", "larger of 71 and 17>", "? K7Q2"]


def logprobs(*flags):
    """Of every prompt token and of 6 greedy ones, with the 5 best of each place; of each question."""
    with RealServer(*flags) as s:
        answers = [s.complete(LOG + q, logprobs=5, echo=True, max_tokens=6, temperature=0) for q in QUESTIONS]
        return [a.json()["choices"][0]["logprobs"] for a in answers]


def best_5(top):
    """The list has the token itself, too, where it is not among the best."""
    return sorted(top, key=top.get, reverse=True)[:5]


def logprobs_are_the_native_backend_s():
    """Logits differ by at most 1e-2 of the greatest, with exact 1e-4 (test_cuda.c), which is 25 here at most. A log-probability
    differs by twice as much: its logit's error, and that of the sum. Tokens that lie further apart than both their errors keep
    their order."""
    native, order_kept = logprobs("--backend", "cpu"), 0
    for precision, bound in (("bf16", 2 * 1e-2 * 25), ("exact", 2 * 1e-4 * 25)):
        for question, want, got in zip(QUESTIONS, native, logprobs("--backend", "simt", "--precision", precision)):
            equal(got["tokens"], want["tokens"], precision)
            assert len(want["tokens"]) > 40, want["tokens"]
            for i, (w, g) in enumerate(zip(want["top_logprobs"], got["top_logprobs"])):
                where = f"{precision}, {question}, place {i}: {w} and {g}"
                both = w.keys() & g.keys()
                assert all(abs(w[t] - g[t]) <= bound for t in both), where
                assert abs(want["token_logprobs"][i] - got["token_logprobs"][i]) <= bound, where
                first, *others = best_5(w)
                if w[first] - w[others[0]] > 2 * bound:
                    equal(best_5(g)[0], first, where)
                sure = {t for t in best_5(w) if w[t] - w[others[-1]] > 2 * bound}
                assert sure <= set(best_5(g)), where
                order_kept += len(sure)
    assert order_kept > 300, order_kept


def the_plan_of_memory_is_printed():
    with RealServer("--backend", "simt", "--precision", "exact") as s:
        equal((s.ready["backend"], s.ready["precision"], s.ready["kv_type"]), ("simt", "exact", "bf16x2"))
        line = next(l for l in said_until_the_end(s).splitlines() if "device memory" in l)
    for part in ("weights ", "1152 KV blocks of 16 tokens", "workspace ", "reserve ", "GiB free"):
        assert part in line, line


def a_gpu_s_steps_are_ranges_of_the_record():
    """simt in the role of a GPU: its times mean nothing, their order does."""
    with RealServer("--backend", "cuda", env={**os.environ, "SERVELAB_CUDA": SIMT}) as s:
        r = s.complete("12+30=", max_tokens=5, ignore_eos=True)
        record = s.settled(r.headers["X-Request-Id"])
        ranges = [(e["event"], e["range"], e["source"]) for e in record["events"] if e["clock"] == "gpu"]
        want = [(e, "prefill" if i == 0 else "decode", "cuda_event") for i in range(5) for e in ("gpu_start", "gpu_end")]
        equal(ranges, want)
        times = [e["t_ns"] for e in record["events"] if e["clock"] == "gpu"]
        equal(times, sorted(times))
    checked = subprocess.run([SERVELAB, "record", "check", "-"], input=json.dumps(record), capture_output=True, text=True)
    assert checked.returncode == 0 and "gpu" in checked.stdout, checked
    with RealServer("--backend", "simt") as s:
        record = s.settled(s.complete("12+30=", max_tokens=5).headers["X-Request-Id"])
        assert not any(e["clock"] == "gpu" for e in record["events"]), "simt's times are no GPU's"


# ---- failures while it serves ----------------------------------------------------------------------------------------


def ask_at_once(s, n):
    replies = [None] * n

    def ask(i):
        replies[i] = s.complete("12+30=", max_tokens=40, ignore_eos=True)
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return replies


def failed(s, reply, *parts):
    """The reply and the record of a request whose step failed."""
    e, request = reply.error(), reply.headers["X-Request-Id"]
    equal((reply.status, e["type"], e["code"]), (500, "server_error", "engine_fault"), e)
    for part in parts:
        assert part in e["message"], e
    assert "request_failed" in names(s.settled(request))
    equal(s.get(f"/v1/records/{request}/intervals").json()["completion_reason"], "internal_error")


def a_call_that_fails_ends_the_requests_in_flight_and_no_others():
    for launch, requests in ((20, 3), (60, 1)):  # in the first prefill; while the first decode step is captured
        with RealServer("--backend", "simt", env={**os.environ, "SIMT_FAIL": f"cudaLaunchKernel:{launch}:2"}) as s:
            bad = [r for r in ask_at_once(s, requests) if r.status != 200]
            assert bad, "no request was in flight"
            for r in bad:
                failed(s, r, "the launch of ", "cudaErrorMemoryAllocation (out of memory)", "ask for less")
            equal(s.complete("12+30=", max_tokens=4).json()["choices"][0]["text"], "42")
            equal((s.get("/health").status, s.get("/health").json()["status"]), (200, "ok"))


def a_lost_device_fails_every_request_and_shows_in_health():
    with RealServer("--backend", "simt", env={**os.environ, "SIMT_FAIL": "cudaStreamSynchronize:6:700"}) as s:
        for r in ask_at_once(s, 3):
            failed(s, r, "cudaStreamSynchronize", "cudaErrorIllegalAddress", "restart the server")
        failed(s, s.complete("12+30=", max_tokens=4), "restart the server")
        health = s.get("/health")
        equal((health.status, health.json()["status"]), (503, "failed"))
        assert "cudaErrorIllegalAddress" in health.json()["fault"], health.body


def each_call_of_a_start_may_fail():
    for call in ("cudaMemGetInfo", "cudaMallocHost", "cudaMalloc", "cudaMemsetAsync", "cudaMemcpyAsync"):
        r = subprocess.run([SERVELAB, "serve", "--port", "0", "--backend", "simt"], env={**os.environ, "SIMT_FAIL": f"{call}:1:2"},
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        equal(r.returncode, 2, r.stderr)
        said = r.stderr.splitlines()[-1]  # after the plan of memory
        assert call in said and "cudaErrorMemoryAllocation (out of memory); ask for less" in said, r.stderr


def each_call_of_a_decode_step_may_fail():
    for call in ("cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate", "cudaGraphLaunch"):
        with RealServer("--backend", "simt", env={**os.environ, "SIMT_FAIL": f"{call}:1:2"}) as s:
            failed(s, s.complete("12+30=", max_tokens=4), "cudaErrorMemoryAllocation (out of memory); ask for less")
            again = s.complete("12+30=", max_tokens=4).json()
            assert "choices" in again and again["choices"][0]["text"] == "42", (call, again)


TESTS = [a_plug_in_that_cannot_be_loaded_is_named, a_plug_in_that_would_stop_the_loader_is_refused_first,
         a_plug_in_of_another_program_is_refused, a_plug_in_of_another_build_is_refused,
         without_proc_the_current_folder_is_not_searched,
         without_a_driver_or_a_device_there_is_one_line, auto_goes_on_with_the_cpu_and_says_so,
         memory_that_does_not_fit_is_refused_with_its_numbers, flags_of_another_backend_are_refused, quantised_weights_and_an_8_bit_cache_serve,
         logprobs_are_the_native_backend_s, the_plan_of_memory_is_printed,
         a_gpu_s_steps_are_ranges_of_the_record,
         a_call_that_fails_ends_the_requests_in_flight_and_no_others, a_lost_device_fails_every_request_and_shows_in_health,
         each_call_of_a_start_may_fail, each_call_of_a_decode_step_may_fail]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
