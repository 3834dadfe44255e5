"""record_cli.py: what the Python tests of `servelab record check` share: TAP, records, running the program."""
import copy
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.normpath(os.path.join(HERE, "../../.."))
FIXTURES = os.path.join(HERE, "fixtures")
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))

_results = []


def check(name, ok, detail=""):
    """One TAP line; a failure says why on stderr."""
    _results.append(bool(ok))
    print(("ok" if ok else "not ok"), len(_results), "-", name, flush=True)
    if not ok and detail:
        print("#", name, ":", detail, file=sys.stderr)


def equal(name, got, want):
    check(name, got == want, f"got {got!r}, want {want!r}")


def finish():
    print(f"1..{len(_results)}")
    sys.exit(0 if _results and all(_results) else 1)


def run(*args, stdin=None):
    """(exit status, stdout, stderr) of `servelab record check ARGS`."""
    p = subprocess.run([SERVELAB, "record", "check", *args], input=stdin, capture_output=True, timeout=300)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def event(name, t_ns, clock=None, **more):
    client = name in ("request_submitted", "first_byte_received", "final_byte_received")
    clock = clock or ("browser" if client else "gpu" if name.startswith("gpu") else "server")
    api = {"browser": "performance.now", "server": "CLOCK_MONOTONIC", "gpu": "cudaEventElapsedTime", "sim": "simulated"}
    source = {"browser": "browser", "server": "server_log", "gpu": "cuda_event", "sim": "simulator"}
    return {"event": name, "clock": clock, "t_ns": t_ns, "source": source[clock], "clock_api": api[clock], **more}


def record(request_id="r-1", attempt=1, ms=500):
    """A delivered, useful record: client_ttft `ms`, server_ttft 10 ms less, e2e 4,500 ms more."""
    m = 1000000
    return {
        "schema": "servelab.request-record.v1", "request_id": request_id, "attempt": attempt,
        "workload": {"model": "tiny", "prompt_tokens": 2048, "max_output_tokens": 256, "output_tokens": 181,
                     "decoding": "greedy"},
        "events": [event("request_submitted", 1 * m), event("request_accepted", 70 * m),
                   event("request_admitted", 75 * m), event("first_token", (60 + ms) * m),
                   event("first_byte_received", (1 + ms) * m), event("final_byte_received", (4501 + ms) * m)],
        "outcome": {"delivered": True, "http_status": 200, "finish_reason": "stop", "error": None},
        "quality": {"check": "key-recall/1", "verdict": "passed"},
        "structure": {"check": None, "verdict": "not_required"},
        "resources": {"gpu_seconds": None, "joules": None},
        "statement": "client_ttft is what the person felt before the answer began"}


def lost(request_id, attempt=1, status=429, terminal="request_rejected", error="queue full"):
    """A record that ended without an answer."""
    r = record(request_id, attempt)
    r["events"] = r["events"][:2] + ([event(terminal, 71000000)] if terminal else [])
    r["outcome"] = {"delivered": False, "http_status": status, "finish_reason": None, "error": error}
    r["quality"] = {"check": None, "verdict": "not_evaluated"}
    return r


def with_sent(r, sent):
    """The record with token_sent events (ms, tokens) after first_token; output_tokens is their sum."""
    r = copy.deepcopy(r)
    at = [e["event"] for e in r["events"]].index("first_token") + 1
    r["events"][at:at] = [event("token_sent", ms * 1000000, tokens=n) for ms, n in sent]
    r["workload"]["output_tokens"] = sum(n for _, n in sent)
    return r


def find(r, name):
    return next(e for e in r["events"] if e["event"] == name)


class Files:
    """A temporary folder that takes records and gives paths."""

    def __init__(self):
        # no "-" before the random part: the tests look for "-1" in texts that hold this path
        self.folder = tempfile.TemporaryDirectory(prefix="servelab-record.")
        self.n = 0

    def write(self, *records):
        self.n += 1
        path = os.path.join(self.folder.name, f"{self.n}.jsonl")
        with open(path, "w") as f:
            for r in records:
                f.write(json.dumps(r) + "\n")
        return path
