#!/usr/bin/env python3
"""test_load_sweep.py: `servelab load sweep` against a paced server: what it finds, what it keeps, and how it ends."""
# servelab-test: waits
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "../../serve/tests"))
from harness import PATIENCE_S, SERVELAB, FakeServer, RealServer, equal, run_tests  # noqa: E402
from mock_openai import MockServer, answer  # noqa: E402

PACE = ("--pace", "llama-2-7b:a100", "--policy", "chunked", "--max-batch", "2")


def path(*parts):
    return os.path.join(work, *parts)


def objective(below_ms):
    with open(path("objective.json"), "w") as f:
        json.dump({"schema": "servelab.objective.v1", "name": "sweep", "kind": "serving",
                   "latency": [{"interval": "client_ttft", "percentile": 50, "below_ms": below_ms, "scope": "population"}]}, f)
    return path("objective.json")


def command(port, below_ms, *flags, out="sweep"):
    return [SERVELAB, "load", "sweep", "--url", f"http://127.0.0.1:{port}", "--objective", objective(below_ms), "--out", path(out),
            "--duration-s", "1", "--prompt-tokens", "64", "--output-tokens", "16", *flags]


def sweep(*args, **kw):
    return subprocess.run(command(*args, **kw), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)


def a_sweep_keeps_every_run_and_reports_on_all():
    """On a busy machine some runs may be invalid; what is found must follow from the valid ones in any case."""
    with RealServer(*PACE) as s:
        done = sweep(s.port, 100, "--from-rps", "4", "--to-rps", "64", "--factor", "4", "--resolution", "1", "--json")
    found = json.loads(done.stdout)
    met = [p["offered_rps"] for p in found["loads"] if p["verdict"] == "met" and p["run_valid"]]
    equal(found["highest_rps"], max(met) if met else None)
    equal(done.returncode, 0 if met else 1)
    for p in found["loads"]:  # each is a run of its own, at its own rate
        with open(os.path.join(p["run"], "run.json")) as f:
            kept = json.load(f)
        equal((kept["workload"]["rate_rps"], kept["valid"]), (p["offered_rps"], p["run_valid"]))
    with open(path("sweep", "report", "report.json")) as f:
        made = json.load(f)
    equal([(p["run"], p["verdict"], p["run_valid"]) for p in made["points"]],
          [(p["run"], p["verdict"], p["run_valid"]) for p in found["loads"]])


def loads_that_lie_close_have_folders_of_their_own():
    with RealServer(*PACE) as s:
        for rps in ("10.0061", "10.0099"):
            done = sweep(s.port, 10000, "--from-rps", rps, "--to-rps", rps, out="close")
            assert done.returncode in (0, 1), done.stderr


def a_sweep_that_measures_nothing_says_so():
    with RealServer("--pace", "llama-2-7b:h100", "--pace-scale", "0.01") as s:  # no machine of ours keeps this pace
        done = sweep(s.port, 10000, "--from-rps", "4", "--to-rps", "4", out="invalid")
    equal((done.returncode, done.stdout.count("the run is invalid: ")), (1, 3), done.stdout)
    runs = glob.glob(path("invalid", "*", "run.json"))
    equal(len(runs), 3)
    for run in runs:  # the line has the first reason; on a busy machine the client may have been late, too
        with open(run) as f:
            reasons = json.load(f)["invalid_reasons"]
        assert any("the paced server was late" in reason for reason in reasons), reasons
    assert "no load could be measured: every run is invalid" in done.stdout, done.stdout


def a_load_without_a_request_is_passed_over():
    with RealServer(*PACE) as s:
        done = sweep(s.port, 10000, "--from-rps", "0.01", "--to-rps", "10", "--factor", "30", out="empty")
        nothing = sweep(s.port, 10000, "--from-rps", "0.01", "--to-rps", "0.01", "--json", out="nothing")
    first, *others = done.stdout.split("\n")
    assert "0.01 requests/s: not counted, the run is invalid: no request was scheduled" in first, done.stdout
    assert done.returncode in (0, 1) and any(line.lstrip().startswith("9 requests/s") for line in others), (done.stdout, done.stderr)
    with open(path("empty", "report", "report.json")) as f:
        assert path("empty", "0.01-rps") not in [p["run"] for p in json.load(f)["points"]]
    found = json.loads(nothing.stdout)
    equal(found["loads"][0]["verdict"], "not_computable")
    equal((nothing.returncode, found["report"], found["highest_rps"], len(found["loads"])), (1, None, None, 1), nothing.stderr)


def answers_of_the_asked_length_are_complete_with_ignore_eos():
    """Of another maker's server, which ends them by their length."""
    with MockServer(lambda r: answer(r, ["a", "b"], finish="length")) as s:
        for flags, verdict in (((), "missed"), (("--ignore-eos",), "met")):
            done = sweep(s.url.split(":")[2], 10000, "--from-rps", "20", "--to-rps", "20", "--json", *flags, out=f"eos{verdict}")
            load = json.loads(done.stdout)["loads"][-1]
            assert load["verdict"] == verdict or not load["run_valid"], (done.stdout, done.stderr)  # a busy machine
            with open(path(f"eos{verdict}", "report", "report.json")) as f:
                counts = json.load(f)["points"][-1]["counts"]
            equal(counts["completed"], counts["requests"] if flags else 0)


def a_sweep_says_what_it_found_and_writes_over_nothing():
    with RealServer(*PACE) as s:
        done = sweep(s.port, 0.001, "--from-rps", "4", "--to-rps", "4", out="missed")
        equal(done.returncode, 1)
        said = "no load meets the objective" if ": missed" in done.stdout else "no load could be measured: every run is invalid"
        equal(done.stdout.split("\n")[-3:], [said, f"report: {path('missed')}/report/report.html", ""])
        again = sweep(s.port, 0.001, "--from-rps", "4", out="missed")
        equal(again.returncode, 2)
        assert "holds a run already" in again.stderr, again.stderr


def an_interrupted_sweep_keeps_what_it_has():
    with RealServer(*PACE) as s:
        process = subprocess.Popen(command(s.port, 10000, "--from-rps", "4", "--factor", "1.01", out="stopped"),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=PATIENCE_S)
    assert "4 requests/s" in first, first
    equal(process.returncode, 130)
    assert "report: " in rest, rest
    with open(path("stopped", "report", "report.json")) as f:
        assert json.load(f)["points"]


def bad_usage():
    with FakeServer() as s:
        for flags, part in ((("--from-rps", "9", "--to-rps", "4"), "--from-rps is above --to-rps"), (("--factor", "1"), "--factor"),
                            (("--warm-up-s", "0.5", "--cool-down-s", "0.5"), "leave nothing of --duration-s"),
                            (("--arrivals", "closed"), "--arrivals")):
            done = sweep(s.port, 1, *flags, out="bad")
            equal((done.returncode, done.stdout), (2, ""), part)
            assert part in done.stderr, (part, done.stderr)
    done = sweep(1, 1, out="nobody")
    equal(done.returncode, 2)


def an_output_that_cant_be_written_is_named():
    with FakeServer() as s:
        with open(path("file"), "w"):
            pass
        done = sweep(s.port, 1, "--from-rps", "4", out="file/below")
        equal(done.returncode, 4, done.stderr)
        assert done.stderr.startswith("servelab load sweep: --out: ") and "can't be made" in done.stderr, done.stderr
        os.mkdir(path("full"))
        with open(path("full", "4-rps"), "w"):
            pass
        done = sweep(s.port, 1, "--from-rps", "4", out="full")
        equal(done.returncode, 4, done.stderr)
        assert done.stderr.startswith("servelab load sweep: --out: ") and "4-rps" in done.stderr, done.stderr


work = tempfile.mkdtemp(prefix="servelab-sweep-")
status = run_tests([a_sweep_keeps_every_run_and_reports_on_all, loads_that_lie_close_have_folders_of_their_own,
                    a_sweep_that_measures_nothing_says_so, a_load_without_a_request_is_passed_over,
                    answers_of_the_asked_length_are_complete_with_ignore_eos,
                    a_sweep_says_what_it_found_and_writes_over_nothing,
                    an_interrupted_sweep_keeps_what_it_has, an_output_that_cant_be_written_is_named, bad_usage])
subprocess.run(["rm", "-rf", work], check=True)
sys.exit(status)
