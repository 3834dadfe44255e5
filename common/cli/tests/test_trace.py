#!/usr/bin/env python3
"""test_trace.py: `servelab trace` on step logs: whole ones, those of a killed server, and files that are none."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../serve/tests"))
from harness import PATIENCE_S, SERVELAB, TOP, equal, run_tests  # noqa: E402

RECORD = os.path.join(TOP, "solutions/01_request_record/record.json")
HEAD = json.dumps({"schema": "servelab.step-log.v1", "clock_api": "CLOCK_MONOTONIC", "backend": "cpu", "paced": None,
                   "kv_blocks": 4096, "token_budget": 512, "max_batch": 8}) + "\n"


def step(**more):
    return json.dumps({"start_ns": 1, "end_ns": 2, "prefill_tokens": 512, "decode_tokens": 3, "sequences": 4,
                       "context_tokens": 9000, "attended_tokens": 200000, "waiting": 2, "kv_blocks_used": 640, **more}) + "\n"


def trace(text):
    path = os.path.join(work, "steps.jsonl")
    with open(path, "w") as f:
        f.write(text)
    return trace_of(path)


def trace_of(path):
    return subprocess.run([SERVELAB, "trace", RECORD, "--steps", path], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE_S)


def steps_in(done):
    equal((done.returncode, done.stderr), (0, ""))
    return [e["args"] for e in json.loads(done.stdout)["traceEvents"] if e["ph"] == "X" and e["tid"] == 0]


def refused(done, part):
    equal((done.returncode, done.stdout), (2, ""), done.stderr)
    assert part in done.stderr, done.stderr


def steps_are_slices():
    equal([s["sequences"] for s in steps_in(trace(HEAD + step() + step(start_ns=2, end_ns=5, sequences=7)))], [4, 7])
    equal(len(steps_in(trace(HEAD + step().rstrip("\n")))), 1, "the last newline may be missing")


def the_torn_last_line_of_a_killed_server_is_left_out():
    whole, last = HEAD + step(), step()
    for cut in (1, 9, 40, len(last) - 2):
        equal(len(steps_in(trace(whole + last[:cut]))), 1, f"cut after {cut} bytes")


def a_bad_line_is_named():
    refused(trace(HEAD + step() + "garbage\n" + step()), ":3: ")
    refused(trace(HEAD + step()[:40] + "\n"), ":2: ")
    refused(trace(HEAD + step().rstrip("\n") + "\0more\n"), ":2: ")
    refused(trace(HEAD + step(end_ns=10**30)), "end_ns")


def a_torn_record_is_named_and_costs_no_other():
    with open(RECORD) as f:
        line = json.dumps(json.load(f))
    path, out = os.path.join(work, "torn.jsonl"), os.path.join(work, "torn-trace.json")
    for text, torn_line in ((line + "\n" + line[:200], 2), (line[:200] + "\n" + line + "\n", 1)):
        with open(path, "w") as f:
            f.write(text)
        done = subprocess.run([SERVELAB, "trace", path, "--out", out, "--json"], capture_output=True, text=True, timeout=PATIENCE_S)
        equal(done.returncode, 0, done.stderr)
        assert f"{path}:{torn_line}: the record is cut off" in done.stderr, done.stderr
        told = json.loads(done.stdout)
        equal((told["requests"], told["torn_records"]), (1, 1))


def a_long_line_is_one_line():
    equal(len(steps_in(trace(HEAD + step(note="a" * 5000) + step(start_ns=2, end_ns=3)))), 2)


def what_is_no_step_log_is_refused():
    with open(RECORD) as f:
        record = json.dumps(json.load(f)) + "\n"
    refused(trace(record * 2), "servelab.request-record.v1")
    refused(trace('{"schema": 7}\n' + step()), "schema")
    refused(trace("hello"), ":1: ")
    refused(trace_of(work), "is a folder")


TESTS = [steps_are_slices, the_torn_last_line_of_a_killed_server_is_left_out, a_bad_line_is_named,
         a_torn_record_is_named_and_costs_no_other, a_long_line_is_one_line,
         what_is_no_step_log_is_refused]

with tempfile.TemporaryDirectory(prefix="servelab-trace-") as work:
    sys.exit(run_tests(TESTS))
