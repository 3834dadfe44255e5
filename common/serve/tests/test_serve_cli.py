#!/usr/bin/env python3
"""test_serve_cli.py: `servelab serve` as a program: its flags, signals, log and page, with the embedded model."""
# servelab-test: waits
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import quote

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import (MODEL_FILE, SERVELAB, RealServer, equal, names, read_to_end, read_until, readable, run_tests,
                     wait_until)  # noqa: E402

LONG = {"stream": True, "ignore_eos": True, "temperature": 0}


def run(*args, **kw):
    return subprocess.run([SERVELAB, "serve", *args], capture_output=True, text=True, timeout=60, **kw)


def records_in(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def by_id(path):
    return {r["request_id"]: r for r in records_in(path)}


# ---- flags -----------------------------------------------------------------------------------------------------------


def bad_flags_are_named():
    for args, part in ((["--port", "70000"], "--port"), (["--port", "x"], "--port"), (["--nope"], "--nope"),
                       (["--model"], "--model"), (["extra"], "extra"), (["--max-waiting", "0"], "--max-waiting"),
                       (["--precision", "slow"], "'slow'"), (["--kv-type", "f8"], "'f8'"),
                       (["--model", "/nonexistent/m.gguf"], "/nonexistent/m.gguf"), (["--host", "no such host", "--port", "0"], "--host"),
                       (["--host", "192.0.2.1", "--port", "0"], "--host"), (["--web", "/nonexistent"], "--web"),
                       (["--web", "/"], "index.html"), (["--port", "0", "--log", "/nonexistent/log"], "/nonexistent/log"),
                       (["--port", "0", "--port-file", "/nonexistent/port"], "--port-file")):
        known = [] if "--model" in args else ["--model", MODEL_FILE]
        r = run(*known, *args)
        equal(r.returncode, 2, f"{args}: {r.stderr}")
        assert part in r.stderr, f"{args}: {r.stderr}"
    r = run("--model", "/nonexistent/m.gguf", "--json")
    equal(json.loads(r.stdout)["error"]["input"], "/nonexistent/m.gguf")


def limits_that_cannot_be_are_refused_under_the_flags_name():
    paced = ["--pace", "llama-2-7b:h100"]
    for args, flag, part in ((["--kv-bytes", "1"], "--kv-bytes", "0 blocks"), ([*paced, "--kv-bytes", "1"], "--kv-bytes", "0 blocks"),
                             ([*paced, "--kv-bytes", "8388607"], "--kv-bytes", "a block takes 8388608 bytes"),
                             (["--kv-bytes", "100000", "--kv-blocks", "4"], "--kv-bytes", "--kv-blocks"),
                             (["--backend", "none", "--kv-bytes", "100000"], "--kv-bytes", "--backend none"),
                             (["--backend", "none", "--precision", "fast"], "--precision", "--backend none"),
                             (["--backend", "none", "--kv-type", "f16"], "--kv-type", "--backend none"),
                             (["--backend", "none", "--max-batch", "4096", "--context", "16777216"], "--kv-blocks", "blocks"),
                             (["--context", "1000000"], "--context", "1000000"),
                             (["--policy", "wait-for-n:257"], "--policy", "--max-waiting"),
                             ([*paced, "--weight-bits", "7"], "--weight-bits", "16, 8 and 4"),
                             ([*paced, "--kv-bits", "5"], "--kv-bits", "16, 8 and 4"),
                             (["--pace", "mixtral-8x7b:a100"], "--pace", "weights")):
        r = run("--model", MODEL_FILE, "--port", "0", "--json", *args)
        equal(r.returncode, 2, f"{args}: {r.stderr}")
        said = json.loads(r.stdout)["error"]
        equal((said["field"], "input" in said, r.stderr.count("\n")), (flag, False, 1), f"{args}: {r.stderr}")
        assert part in said["message"], f"{args}: {r.stderr}"


def help_has_an_example():
    r = run("--help")
    equal(r.returncode, 0)
    assert "example:" in r.stdout and "--drain-timeout-s" in r.stdout


def port_in_use():
    with RealServer() as s:
        r = run("--model", MODEL_FILE, "--port", str(s.port))
        equal(r.returncode, 2)
        assert "--port" in r.stderr and "in use" in r.stderr, r.stderr


def a_path_is_a_unix_socket():
    with tempfile.TemporaryDirectory() as folder, RealServer("--host", os.path.join(folder, "s")) as s:
        equal(s.ready["url"], f"unix:{folder}/s")
        said = s.process.stderr.readline()
        assert f"ready at unix:{folder}/s (" in said, said
        with socket.socket(socket.AF_UNIX) as c:
            c.connect(os.path.join(folder, "s"))
            c.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            reply = b"".join(iter(lambda: c.recv(4096), b""))
        assert reply.startswith(b"HTTP/1.1 200") and b'"status":"ok"' in reply, reply
        again = run("--host", os.path.join(folder, "s"))
        assert again.returncode == 2 and "--host" in again.stderr and "is in use; remove it" in again.stderr, again.stderr
        s.stop()
        equal(os.listdir(folder), [], "the socket's file goes with the server")
    with tempfile.TemporaryDirectory() as folder, RealServer("--host", os.path.join(folder, "s")) as s:
        os.unlink(os.path.join(folder, "s"))
        with RealServer("--host", os.path.join(folder, "s")) as other:
            s.stop()
            equal(os.listdir(folder), ["s"], "it is another server's")
            other.stop()
        equal(os.listdir(folder), [])
    far = run("--host", "/" + 120 * "x")
    assert far.returncode == 2 and "at most 107 bytes" in far.stderr, far.stderr


def ready_line():
    with RealServer("--name", "my model", "--context", "100") as s:
        equal((s.ready["port"], s.ready["url"], s.ready["model"], s.ready["context_length"]),
              (s.port, f"http://127.0.0.1:{s.port}", "my model", 100))
        equal(s.get("/v1/models").json()["data"][0]["id"], "my model")
        equal(s.complete("12+30=", max_tokens=4).status, 200)


def precision_is_stated():
    for given, want in (([], ("exact", "f32")), (["--precision", "fast", "--kv-type", "f16"], ("fast", "f16"))):
        with tempfile.NamedTemporaryFile("r") as log, RealServer(*given, "--step-log", log.name) as s:
            for said in (s.ready, s.get("/health").json(), json.loads(log.readline())):
                equal((said["precision"], said["kv_type"]), want)


def kv_bytes_hold_twice_as_many_halves():
    blocks = []
    for kind in ("f32", "f16"):
        with RealServer("--kv-type", kind, "--kv-bytes", "50000000") as s:
            blocks.append(s.ready["kv_blocks"])
    assert blocks[1] in (2 * blocks[0], 2 * blocks[0] + 1), blocks


def page_from_a_folder():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "sub"))
        for name, text in (("index.html", "<p>mine"), ("sub/x.js", "1"), (".secret", "s"), ("..x", "s")):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        os.symlink("/etc/passwd", os.path.join(folder, "link.html"))
        os.mkfifo(os.path.join(folder, "fifo.html"))
        with RealServer("--web", folder) as s:
            equal(s.get("/").body, b"<p>mine")
            r = s.get("/sub/x.js")
            equal((r.body, r.headers["Content-Type"]), (b"1", "text/javascript; charset=utf-8"))
            equal(r.headers["Cross-Origin-Embedder-Policy"], "require-corp")
            for path in ("/.secret", "/..x", "/../etc/passwd", "/sub/../index.html", "/sub//x.js", "/link.html", "/fifo.html",
                         "/sub", "/sub/", "/%2e%2e/x", "/app.js"):
                equal((s.get(path).status, s.request("PUT", path).status), (404, 404), path)
            equal((s.request("PUT", "/").status, s.request("PUT", "/sub/x.js").status), (405, 405))


def more_connections_than_the_usual_limit():
    """The soft limit of descriptors is raised, so that a lecture hall's idle pages don't lock anybody out."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    wanted = min(hard, 2000) - 200
    with RealServer(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))) as s:
        idle = [s.connect() for _ in range(wanted)]
        equal(s.complete("12+30=", max_tokens=2).status, 200)
        for sock in idle:
            sock.close()


# ---- signals ---------------------------------------------------------------------------------------------------------


def start_long(s, request_id, tokens):
    sock = s.connect()
    s.send_completion(sock, headers=["Connection: close", f"X-Request-Id: {request_id}"], max_tokens=tokens, **LONG)
    return sock, read_until(sock, b"data: ")


def hold(s, requests=100):
    """Queues so many long requests that the server can't be done draining before they are dropped: their connections."""
    socks = [s.connect() for _ in range(requests)]
    for i, sock in enumerate(socks):
        s.send_completion(sock, headers=[f"X-Request-Id: hold-{i}"], max_tokens=2000, **LONG)
    wait_until(lambda: s.record(f"hold-{requests - 1}"), "the last one is accepted")
    return socks


def any_name_finds_its_model():
    for name in ("meta-llama/Llama-2-7b", "x" * 300, "é \"q\" <|a|>{}"):
        with RealServer("--name", name) as s:
            for path in (name, quote(name, safe=""), quote(name)):
                if path.isascii() and " " not in path:
                    equal((s.get("/v1/models/" + path).status, s.get("/v1/models/" + path).json()["id"]), (200, name))
            equal((s.complete(max_tokens=1).json()["model"], s.get("/v1/models/other/x").status), (name, 404))


def sigterm_drains():
    for sig in (signal.SIGTERM, signal.SIGINT):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log.jsonl")
            with RealServer("--log", log) as s:
                s.complete(max_tokens=1, headers={"X-Request-Id": "before"})
                sock, data = start_long(s, "running", 1500)
                held = hold(s)
                s.process.send_signal(sig)
                wait_until(lambda: s.get("/health").status == 503, "the server drains")
                equal(s.complete(headers={"X-Request-Id": "late"}).status, 503)
                for other in held:
                    other.close()
                data += read_to_end(sock)
                assert data.count(b"data: ") > 2 and b"[DONE]" in data, "what ran was finished"
                equal(s.process.wait(timeout=60), 0)
            records = {k: r for k, r in by_id(log).items() if not k.startswith("hold-")}
            equal(sorted(records), ["before", "late", "running"])
            equal(records["running"]["workload"]["output_tokens"], 1500)
            equal(names(records["running"])[-1], "response_finished")
            equal(names(records["late"])[-1], "request_rejected")


def an_unfinished_upload_does_not_hold_up_the_end():
    for body in (b"", b"{"):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log.jsonl")
            with RealServer("--log", log) as s:
                sock = s.connect()
                sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: half\r\n"
                             b"Content-Length: 1000\r\n\r\n" + body)
                wait_until(lambda: s.record("half"), "the header is read")
                began = time.monotonic()
                equal(s.stop(), 0)
                assert time.monotonic() - began < 25, "the end of a body is awaited 1 s, not 30"
                reply = read_to_end(sock)
                assert reply.startswith(b"HTTP/1.1 503 ") and b'"code":"draining"' in reply, reply
            half = by_id(log)["half"]
            equal((names(half), half["outcome"]["http_status"]), (["request_accepted", "request_rejected"], 503))


def the_end_counts_what_is_not_answered():
    """A refused upload lingers, and isn't finished any more."""
    for uploads, says in ((0, []), (1, ["servelab serve: finishing 1 request; a second signal stops at once\n"])):
        with RealServer() as s:
            socks = [s.connect() for _ in range(3)]
            socks[0].sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5242880\r\n\r\n{")
            assert read_to_end(socks[0]).startswith(b"HTTP/1.1 413 ")
            if uploads:
                socks[1].sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: half\r\nContent-Length: 9\r\n\r\n{")
                wait_until(lambda: s.record("half"), "the header is read")
            equal(s.stop(), 0)
            equal([line for line in s.process.stderr if "finishing" in line], says)


def clients_half_still_comes_while_draining():
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        with RealServer("--log", log) as s:
            event = {"event": "request_submitted", "clock": "browser", "t_ns": 1, "source": "client",
                     "clock_api": "CLOCK_MONOTONIC"}
            half = json.dumps({"events": [event]}).encode()
            sock = s.connect()
            s.send_completion(sock, headers=["X-Request-Id: running"], max_tokens=1500, **LONG)
            # on the same connection, so that the server reads it as soon as the answer is out, however busy the machine
            sock.sendall(b"POST /v1/records/running/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                         b"Content-Length: %d\r\n\r\n%s" % (len(half), half))
            read_until(sock, b"data: ")
            s.process.send_signal(signal.SIGTERM)
            assert b'"log_lacks_it":false' in read_to_end(sock)
            equal(s.process.wait(timeout=60), 0)
        assert "request_submitted" in names(by_id(log)["running"])


def fast_client(s, request_id):
    s.complete(max_tokens=1, headers={"X-Request-Id": request_id})


def slow_client(s, request_id):
    """Its body is as slow as it may be while the server drains."""
    sock = s.connect()
    sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: %s\r\nContent-Length: 9\r\n\r\n"
                 % request_id.encode())
    readable(sock, 0.8)
    sock.sendall(b" " * 9)
    read_to_end(sock)
    sock.close()


def refused_clients_that_come_again_do_not_hold_up_the_end():
    for client in (fast_client, slow_client):
        refused_clients_that_come_again(client)


def refused_clients_that_come_again(one):
    """Each refusal has a record, which waits for its client's half."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        with RealServer("--log", log, "--drain-timeout-s", "600") as s:
            sent = []

            def client(number):
                while True:
                    try:
                        one(s, f"c{number}-{len(sent)}")
                        sent.append(number)
                    except (OSError, http.client.HTTPException):
                        return
            clients = [threading.Thread(target=client, args=(k,)) for k in range(2)]
            for c in clients:
                c.start()
            wait_until(lambda: len(sent) > (10 if one is fast_client else 1), "the clients are there")
            equal(s.stop(), 0)
            for c in clients:
                c.join()
        assert any(names(r)[-1] == "request_rejected" for r in by_id(log).values())


def what_is_being_sent_at_the_end_arrives_whole():
    """An answer of any route whose client has read its beginning only; and answers to clients that send on."""
    get = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    large = b"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 5242880\r\n\r\n"
    with RealServer("--drain-timeout-s", "600") as s:
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(60)
        slow.connect(("127.0.0.1", s.port))
        body = json.dumps({"model": s.model, "prompt": "~" * 1900000, "return_token_strs": True}).encode()
        slow.sendall(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        head, _, got = read_until(slow, b"\r\n\r\n").partition(b"\r\n\r\n")
        senders = [(s.connect(), head) for head in (get, large) * 3]
        for sock, first in senders:
            sock.sendall(first + b" " * 65536)
            assert readable(sock, 60), "it is answered"
        s.process.send_signal(signal.SIGSTOP)  # the server's second for those that send on begins when all is sent
        s.process.send_signal(signal.SIGTERM)
        for sock, first in senders:
            sock.sendall(b" " * 100000)
            sock.shutdown(socket.SHUT_WR)
        s.process.send_signal(signal.SIGCONT)
        for sock, first in senders:
            reply = read_to_end(sock)
            assert reply.startswith(b"HTTP/1.1 200 " if first is get else b"HTTP/1.1 413 ") and reply.endswith(b"}\n"), reply
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024 * 1024)
        got += read_to_end(slow)
        equal(len(got), int(re.search(rb"Content-Length: (\d+)", head)[1]))
        equal(s.process.wait(timeout=60), 0)


def ended_early(extra, second_signal):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        with RealServer("--log", log, "--max-batch", "1", *extra) as s:
            runs, queued = s.connect(), s.connect()
            s.send_completion(runs, headers=["Connection: close", "X-Request-Id: runs"], max_tokens=2000, **LONG)
            wait_until(lambda: s.record("runs"), "the first is accepted")
            s.send_completion(queued, headers=["Connection: close", "X-Request-Id: queued"], max_tokens=9, **LONG)
            wait_until(lambda: s.record("queued"), "the second is accepted")
            s.process.send_signal(signal.SIGTERM)
            if second_signal:  # of another number: two of the same may arrive as one
                s.process.send_signal(signal.SIGINT)
            equal(s.process.wait(timeout=60), 0)
            assert b"[DONE]" not in read_to_end(runs)
            equal(read_to_end(queued), b"")
        for request_id, record in by_id(log).items():
            equal(names(record)[-1], "request_cancelled", request_id)
        equal(sorted(by_id(log)), ["queued", "runs"])


def second_signal_ends_at_once():
    ended_early([], True)


def drain_timeout_ends_at_once():
    ended_early(["--drain-timeout-s", "0"], False)


# ---- the log ---------------------------------------------------------------------------------------------------------


def kill_9_leaves_whole_lines():
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        for _ in range(3):
            s = RealServer("--log", log, "--record-grace-ms", "0")
            stop = threading.Event()

            def client():
                while not stop.is_set():
                    try:
                        s.complete(max_tokens=20, ignore_eos=True)
                    except OSError:
                        return
            threads = [threading.Thread(target=client) for _ in range(4)]
            for t in threads:
                t.start()
            end = time.monotonic() + 60
            before = os.path.getsize(log) if os.path.exists(log) else 0
            while os.path.getsize(log) < before + 50000 and time.monotonic() < end:
                time.sleep(0.01)
            s.process.kill()
            s.process.wait()
            stop.set()
            for t in threads:
                t.join()
            s.process.stdout.close()
            s.process.stderr.close()
        with open(log, "rb") as f:
            lines = f.read().split(b"\n")
        equal(lines[-1], b"", "the last line is whole")
        for line in lines[:-1]:
            json.loads(line)
        r = subprocess.run([SERVELAB, "record", "check", "--json", log], capture_output=True, text=True)
        equal(r.returncode, 0, r.stderr)
        assert len(lines) > 10


def a_log_that_cannot_grow_is_counted_and_fails():
    """A file size limit replaces a full disk."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        s = RealServer("--log", log, "--record-grace-ms", "0", preexec_fn=limit)
        for _ in range(3):
            equal(s.complete("12+30=", max_tokens=2).status, 200)
        s.process.send_signal(signal.SIGTERM)
        said = s.process.communicate(timeout=60)[1]
        equal(s.process.returncode, 4, said)
        assert f"3 records could not be logged to {log}: the " in said, said
        equal(os.path.getsize(log), 0)


def two_thousand_and_forty_eight_tokens_exactly():
    with RealServer() as s:
        r = s.complete([40 + i % 50 for i in range(2048)], max_tokens=4, ignore_eos=True, temperature=0)
        equal(r.status, 200, r.body)
        equal(r.json()["usage"], {"prompt_tokens": 2048, "completion_tokens": 4, "total_tokens": 2052,
                                  "prompt_tokens_details": {"cached_tokens": 0}})
        again = s.complete([40 + i % 50 for i in range(2048)], max_tokens=4, ignore_eos=True, temperature=0)
        # the last prompt token is always computed, and with it its block
        equal(again.json()["usage"]["prompt_tokens_details"], {"cached_tokens": 2032})
        equal(again.json()["choices"], r.json()["choices"])


TESTS = [bad_flags_are_named, limits_that_cannot_be_are_refused_under_the_flags_name, help_has_an_example, port_in_use, a_path_is_a_unix_socket, ready_line,
         precision_is_stated, kv_bytes_hold_twice_as_many_halves, page_from_a_folder,
         more_connections_than_the_usual_limit, any_name_finds_its_model, sigterm_drains, an_unfinished_upload_does_not_hold_up_the_end,
         the_end_counts_what_is_not_answered,
         clients_half_still_comes_while_draining, refused_clients_that_come_again_do_not_hold_up_the_end,
         what_is_being_sent_at_the_end_arrives_whole,
         second_signal_ends_at_once, drain_timeout_ends_at_once,
         kill_9_leaves_whole_lines, a_log_that_cannot_grow_is_counted_and_fails, two_thousand_and_forty_eight_tokens_exactly]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
