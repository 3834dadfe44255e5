#!/usr/bin/env python3
"""test_cli_outputs.py: what a command can't write: a path that can't be opened is bad usage and found before the work
(exit status 2); a write that fails is exit status 4 with the reason. /dev/full refuses every write. The standard output
of the commands that need no server: test_cli.py."""
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../serve/tests"))
from harness import PATIENCE_S, SERVELAB, TOP, FakeServer, equal, run_tests  # noqa: E402

SOLUTION = os.path.join(TOP, "solutions/01_request_record")
RUN = ["sim", "run", "--arrivals-ms", "0,1"]
SWEEP = ["sim", "sweep", "--arrivals", "poisson", "--requests", "20", "--policies", "single", "--rates", "1,2"]
QUALITY = ["quality", "--logs", "1", "--per-kind", "1", "--weights", "f32", "--min-pass-rate", "0"]


def run(*args, stdout=subprocess.PIPE):
    return subprocess.run([SERVELAB, *args], stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True,
                          cwd=work, timeout=PATIENCE_S)


def refused(status, *args, part=""):
    done = run(*args)
    equal(done.returncode, status, f"{args}: {done.stderr}")
    assert ("No space left" if status == 4 else "can't be") in done.stderr and part in done.stderr, done.stderr


def full_link(folder, name):
    os.makedirs(os.path.join(work, folder))
    os.symlink("/dev/full", os.path.join(work, folder, name))
    return folder


def simulated_records():
    refused(4, *RUN, "--records", "/dev/full", part="--records")
    refused(2, *RUN, "--records", "/nonexistent/x", part="--records")


def sweep_files():
    for name in ("sweep.json", "curve.svg"):
        folder = full_link(f"sweep of {name}", name)
        refused(4, *SWEEP, "--out", folder, part=name)
        equal(os.readlink(os.path.join(work, folder, name)), "/dev/full", "the link stays")
        assert not any(f.endswith(".partial") for f in os.listdir(os.path.join(work, folder)))
    refused(2, *SWEEP, "--out", "/proc/nowhere", part="--out")


def quality_reference():
    refused(2, *QUALITY, "--write-reference", "/nonexistent/x", part="/nonexistent/x")


def verdicts():
    for form in ("json", "text"):
        refused(4, "grade", "01", SOLUTION, "--check", "intervals.tpot", "--format", f"{form}=/dev/full", part="/dev/full")


def load_outputs():
    refused(2, "load", "--url", "http://127.0.0.1:1", "--prompt", "p", "--record", "/nonexistent/x", part="--record")
    with FakeServer() as s:
        load = ["load", "--url", f"http://127.0.0.1:{s.port}", "--max-tokens", "9", "--prompt", "p"]
        refused(4, *load, "--record", "/dev/full", part="--record")
        refused(4, *load, "--annotate", "/dev/full", part="--annotate")
        refused(4, *load, "--out", full_link("loaded", "records.jsonl"), part="records.jsonl")
        refused(2, *load, "--out", "/proc/nowhere", part="--out")
        with open("/dev/full", "w") as full:
            for more in ([], ["--json"]):
                done = run(*load, *more, stdout=full)
                equal(done.returncode, 4, done.stderr)
                assert "No space left" in done.stderr, done.stderr


def load_runs():
    with FakeServer() as s:
        load = ["load", "--url", f"http://127.0.0.1:{s.port}", "--arrivals-ms", "0,1", "--prompt-tokens", "9", "--force", "--out"]
        folder = full_link("run without records", "records.jsonl")
        refused(4, *load, folder, part="records.jsonl")
        with open(os.path.join(work, folder, "run.json")) as f:
            described = json.load(f)
        assert not described["valid"] and "No space left" in described["invalid_reasons"][0], described["invalid_reasons"]
        os.makedirs(os.path.join(work, "undescribed", "run.json"))
        done = run(*load, "undescribed")
        equal(done.returncode, 4, done.stderr)
        assert "run.json is a folder" in done.stderr, done.stderr
        equal(sorted(os.listdir(os.path.join(work, "undescribed"))), ["records.jsonl", "run.json"])


def a_record_is_replaced_as_a_whole():
    with FakeServer() as s:
        path, link = os.path.join(work, "r.json"), os.path.join(work, "link.json")
        with open(path, "w") as f:
            f.write("an older, longer text" * 1000)
        os.symlink(path, link)
        done = run("load", "--url", f"http://127.0.0.1:{s.port}", "--max-tokens", "9", "--prompt", "p", "--record", link)
        equal(done.returncode, 0, done.stderr)
        with open(path) as f:
            equal(json.load(f)["schema"], "servelab.request-record.v1")
        equal((os.path.islink(link), os.path.exists(path + ".partial")), (True, False))


def serve_outputs():
    refused(4, "serve", "--port", "0", "--port-file", "/dev/full", part="--port-file")
    refused(2, "serve", "--port", "0", "--port-file", "/nonexistent/port", part="--port-file")
    fifo = os.path.join(work, "port")
    os.mkfifo(fifo)
    with open("/dev/full", "w") as full:
        p = subprocess.Popen([SERVELAB, "serve", "--port", "0", "--port-file", fifo, "--json"], stdin=subprocess.DEVNULL,
                             stdout=full, stderr=subprocess.PIPE, text=True)
    with open(fifo) as f:  # opens when the server is ready
        assert int(f.read()) > 0
    p.send_signal(signal.SIGTERM)
    err = p.communicate(timeout=PATIENCE_S)[1]
    equal(p.returncode, 4, err)
    assert "No space left" in err, err


TESTS = [simulated_records, sweep_files, quality_reference, verdicts, load_outputs, load_runs, a_record_is_replaced_as_a_whole,
         serve_outputs]

with tempfile.TemporaryDirectory(prefix="servelab-outputs-") as work:
    sys.exit(run_tests(TESTS))
