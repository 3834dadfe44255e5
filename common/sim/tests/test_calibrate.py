#!/usr/bin/env python3
"""test_calibrate.py: `servelab sim calibrate` on the step log of a paced server and on bad logs; `servelab sim run --cost`."""
# servelab-test: waits
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../serve/tests"))
from harness import PATIENCE_S, SERVELAB, RealServer, equal, run_tests  # noqa: E402

EXAMPLE = os.path.join(HERE, "../calibration/steps.jsonl")
ARRIVALS = ("--arrivals", "poisson", "--rate-rps", "3", "--requests", "60", "--prompt-tokens", "16:2048", "--output-tokens", "16:96")


def path(name):
    return os.path.join(work, name)


def write(name, text):
    with open(path(name), "wb" if isinstance(text, bytes) else "w") as f:
        f.write(text)
    return path(name)


def servelab(*args):
    return subprocess.run([SERVELAB, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)


def calibrate(*args):
    done = servelab("sim", "calibrate", *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def simulate(*args):
    done = servelab("sim", "run", *ARRIVALS, "--policy", "continuous", "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(message, *args):
    done = servelab(*args)
    equal(done.returncode, 2, done.stdout)
    assert message in done.stderr, f"wanted '{message}' in: {done.stderr}"
    return done


def like(got, want, within, what):
    assert abs(got / want - 1) <= within, f"{what}: got {got}, want {want}"


@contextlib.contextmanager
def real_time():
    """What is started here wakes in time on a busy machine, where the system permits it."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pass
    yield
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def step_ns(cost, sequences, tokens, context, attended):
    """The formula of sim/cost.h, in floating point."""
    padded = tokens if tokens <= cost["tile_from_tokens"] else -(-tokens // cost["tile_tokens"]) * cost["tile_tokens"]
    times = cost["memory_fixed_ps"], padded * cost["compute_per_token_ps"]
    matrices = max(times) + cost["overlap_loss_1024"] / 1024 * min(times) ** 2 / max(times)
    attention = max(context * cost["memory_per_context_ps"], attended * cost["compute_per_attended_fs"] / 1e3)
    head = max(cost.get("head_memory_ps", 0), sequences * cost["head_compute_ps"])
    return (matrices + attention + head) / 1e3 + cost["overhead_ns"]


# llama-2-7b on one a100, as deployment_cost computes it from sim/hardware.c
A100 = {"memory_fixed_ps": 8410400000, "compute_per_token_ps": 61094400, "memory_per_context_ps": 340446,
        "compute_per_attended_fs": 2473100, "overhead_ns": 790000, "head_memory_ps": 170200000, "head_compute_ps": 1236500,
        "tile_tokens": 128, "tile_from_tokens": 64, "overlap_loss_1024": 352}


STEPS = 1000  # two thirds of what one load gives on a quiet machine


def steps_in_time(log):
    """The head of a paced log, and its steps without those that a busy machine held up: they say nothing of the pace."""
    with open(log) as f:
        head, *lines = (line for line in f.read().splitlines(keepends=True) if line.endswith("\n"))
    delay = [s["end_ns"] - s["start_ns"] - step_ns(A100, s["sequences"], s["prefill_tokens"] + s["decode_tokens"],
                                                   s["context_tokens"], s["attended_tokens"]) for s in map(json.loads, lines)]
    return head, [line for line, ns in zip(lines, delay) if abs(ns) < 5e5]  # PACE_SLACK_NS: what a step may catch up


def the_pace_of_a_paced_server_comes_back_within_one_percent():
    """However many steps a busy machine holds up: load is sent until enough others are there."""
    with real_time(), RealServer("--backend", "none", "--pace", "llama-2-7b:a100", "--policy", "continuous", "--context", "4096",
                                 "--step-log", path("paced.jsonl")) as s:
        kept, deadline = [], time.monotonic() + 10 * PATIENCE_S
        while len(kept) < STEPS:
            assert time.monotonic() < deadline, f"waited for {STEPS} steps in time, and {len(kept)} came in {10 * PATIENCE_S} s"
            done = servelab("load", "--url", f"http://127.0.0.1:{s.port}", *ARRIVALS, "--force", "--out", path("run"))
            assert done.returncode in (0, 1), done.stderr  # 1: a busy machine made the run invalid; its steps are as good
            head, kept = steps_in_time(path("paced.jsonl"))
    log = write("in-time.jsonl", head + "".join(kept))
    fitted = json.loads(calibrate(log, "--out", path("paced.cost"), "--json"))
    equal((fitted["schema"], fitted["machine"]), ("servelab.cost.v1", "none, paced as llama-2-7b on a100"))
    for work in ((1, 1, 600, 600), (2, 2, 2400, 2400), (4, 4, 5000, 5000), (1, 300, 300, 45150), (1, 1000, 1000, 500500),
                 (2, 2000, 2000, 1100000)):
        like(step_ns(fitted["cost"], *work), step_ns(A100, *work), 0.01, work)
    ours, theirs = simulate("--cost", path("paced.cost")), simulate("--model", "llama-2-7b", "--gpu", "a100")
    for key in ("mean_latency_ns", "throughput_rps"):
        like(ours[key], theirs[key], 0.01, key)


def the_text_names_parameters_and_residuals_and_the_file_is_the_json():
    text = calibrate(EXAMPLE, "--out", path("a.cost"))
    for part in ("new token", "context token", "prefill", "decode", "mixed", "absent", "--cost " + path("a.cost")):
        assert part in text, (part, text)
    with open(path("a.cost")) as f:
        equal(f.read(), calibrate(EXAMPLE, "--json"))
    equal(servelab("sim", "calibrate", EXAMPLE, "--out", "/proc/no/such").returncode, 4)


def a_cost_file_gives_the_server_its_limits_and_flags_change_them():
    calibrate(EXAMPLE, "--out", path("a.cost"))
    text = simulate("--cost", path("a.cost"))["machine"]
    assert "paced as llama-2-7b on a100 (measured), 7609 KV blocks, at most 2048 tokens an iteration, 256 positions" in text, text
    text = simulate("--cost", path("a.cost"), "--kv-blocks", "900", "--token-budget", "512", "--max-running", "7")["machine"]
    assert "900 KV blocks, at most 512 tokens an iteration, 7 positions" in text, text


def logs_that_say_too_little_are_refused():
    with open(EXAMPLE) as f:
        head, *steps = f.read().splitlines(keepends=True)
    last = json.loads(steps[-1])
    alike = [json.dumps({**last, "start_ns": 10**9 * i, "end_ns": 10**9 * i + last["end_ns"] - last["start_ns"]}) + "\n" for i in range(100)]
    for name, text, message in (
            ("two", head + "".join(steps) + head, f"{len(steps) + 2}: schema: is there twice"),
            ("again", head + "".join(steps + steps[:1]), f"{len(steps) + 2}: start_ns: is before the end of the step above"),
            ("empty", "", "is empty"),
            ("head", head, "holds 0 steps"),
            ("few", head + "".join(steps[:20]), "holds 20 steps"),
            ("headless", "".join(steps), "1: schema: is missing"),
            ("other", '{"schema":"servelab.run.v1"}\n', "1: schema: 'servelab.run.v1' is unknown"),
            ("torn", head + "".join(steps[:60]) + '{"start_ns"\n' + steps[60], "62"),
            ("nul", head.encode() + b"\0\n", "byte 0"),
            ("alike", head + "".join(alike), "prompts"),
            ("field", head.replace('"kv_blocks"', '"blocks"') + "".join(steps), "1: kv_blocks"),
            ("back", head + steps[0].replace('"start_ns":', '"start_ns":9'), "end_ns")):
        done = refused(message, "sim", "calibrate", write(name, text), "--json")
        assert json.loads(done.stdout)["error"]["message"]
    refused("No such file", "sim", "calibrate", path("missing"))
    os.mkfifo(path("fifo"))
    for endless in ("/dev/zero", path("fifo")):
        refused("not a regular file", "sim", "calibrate", endless)
    calibrate(write("cut", head + "".join(steps)[:-30]))  # a killed server's last line


def cost_files_that_are_none_are_refused():
    calibrate(EXAMPLE, "--out", path("a.cost"))
    with open(path("a.cost")) as f:
        good = f.read()
    for change, message in ((("servelab.cost.v1", "v0"), "schema: is 'v0'"), (('"max_batch":256', '"max_batch":0'), "max_batch"),
                            (('"tile_tokens":128', '"tile_tokens":100'), "cost.tile_tokens: is 100"),
                            (('"overhead_ns":', '"overhead":'), "cost.overhead_ns"), (("}}", "}"), "")):
        assert change[0] in good, change
        refused(message, "sim", "run", *ARRIVALS, "--cost", write("bad.cost", good.replace(*change)))
    slow = json.loads(good)
    slow["cost"].update(memory_fixed_ps=0, compute_per_token_ps=9007199254740991)
    refused("100 days", "sim", "run", *ARRIVALS, "--cost", write("slow.cost", json.dumps(slow)))
    slow["cost"] = {key: int(key == "tile_tokens") for key in slow["cost"]}
    refused("no time at all", "sim", "run", *ARRIVALS, "--cost", write("zero.cost", json.dumps(slow)))
    refused("--cost", "sim", "run", *ARRIVALS, "--cost", path("a.cost"), "--model", "llama-2-7b", "--gpu", "a100")
    refused("--cost", "sim", "run", *ARRIVALS, "--cost", path("a.cost"), "--setup-ms", "3")
    refused("No such file", "sim", "run", *ARRIVALS, "--cost", path("missing"))


def damaged_files_end_with_a_message():
    rng = random.Random(4)
    calibrate(EXAMPLE, "--out", path("a.cost"))
    with open(EXAMPLE, "rb") as f:
        log = f.read().splitlines(keepends=True)[:60]
    with open(path("a.cost"), "rb") as f:
        cost = f.read()
    for seed, command in ((b"".join(log), ("sim", "calibrate")), (cost, ("sim", "run", *ARRIVALS, "--cost"))):
        for _ in range(40):
            text = bytearray(seed)
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(len(text))
                text[at:at + rng.randint(0, 3)] = rng.choice((b"", b"9" * 12, b"-", b"{", b"\xff", b"\n", b'"', b"1e99"))
            done = servelab(*command, write("damaged", bytes(text)))
            assert done.returncode in (0, 2), (done.returncode, bytes(text), done.stderr)
            assert done.returncode == 0 or done.stderr.startswith("servelab sim"), done.stderr


with tempfile.TemporaryDirectory() as work:
    status = run_tests([the_pace_of_a_paced_server_comes_back_within_one_percent,
               the_text_names_parameters_and_residuals_and_the_file_is_the_json,
               a_cost_file_gives_the_server_its_limits_and_flags_change_them, logs_that_say_too_little_are_refused,
               cost_files_that_are_none_are_refused, damaged_files_end_with_a_message])
sys.exit(status)
