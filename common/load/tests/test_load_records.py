#!/usr/bin/env python3
"""test_load_records.py: what a load makes of its answers: records with both halves and of the client alone, TPOT and tokens/s that
can't be had, verdicts. See test_load_run.py for the schedule, and for the helpers.
"""
# servelab-test: long
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../serve/tests"))
from harness import SERVELAB, RealServer, equal, names, run_tests  # noqa: E402
from mock_openai import MockServer, answer, chunk  # noqa: E402
from test_load_run import AT_ONCE, Run, event, short, t  # noqa: E402


def both_halves_become_one_record():
    with RealServer("--backend", "none", "--context", "4096") as s:
        run = Run(f"http://127.0.0.1:{s.port}", "--arrivals", "poisson", "--rate-rps", "100", "--requests", "50",
                  "--prompt-tokens", "20:40", "--output-tokens", "4:9")
        equal(run.run["records"], {"file": "records.jsonl", "joined": 50, "forgotten_by_server": 0, "not_taken_by_server": 0,
                                    "server_not_asked": 0})
        equal((len(run.records), run.summary["completed"], run.summary["client_half_only"]), (50, 50, 0))
        for r in run.records:
            assert {"request_accepted", "first_token", "response_finished", "first_byte_received"} <= set(names(r)), names(r)
            assert event(r, "request_submitted")["scheduled_t_ns"] <= t(r, "request_submitted")
            equal(r["outcome"]["delivered"], True)
            assert 20 <= r["workload"]["prompt_tokens"] <= 40, "exactly as many ids as were drawn"
            equal(r["workload"]["output_tokens"], r["workload"]["max_output_tokens"], "it goes on to the length")
        counts = run.run["counts"]
        equal((counts["prompt_tokens_differ"], counts["shorter_than_asked"]), (0, 0))
        tokens = sum(r["workload"]["output_tokens"] for r in run.records)
        equal(run.summary["latency"]["itl"]["p50"]["n"], tokens - 50, "a gap for each token but the first")
        alone = Run(f"http://127.0.0.1:{s.port}", *AT_ONCE, "--no-join")
        equal((len(alone.records), alone.summary["client_half_only"]), (3, 3))


def a_reply_that_is_no_record_spoils_nothing():
    end = b'"event":"response_finished"'
    for reply in (b"<html>\n" + end, b'{"schema":"x",\n' + end + b"}", b'{"schema":"\0",' + end + b"}", b'{"schema":"x",' + end):
        with MockServer(short, records=reply) as s:
            r = Run(s.url, *AT_ONCE)
        equal([len(r.records), [len(x["events"]) for x in r.records]], [3, [3, 3, 3]], repr(reply))


def a_record_with_another_half_is_not_taken():
    """A server that is measured can't say what its client saw."""
    def joined(number, half, change):
        events = json.loads(json.dumps(half["events"]))
        server = [{"event": e, "clock": "server", "t_ns": i, "source": "server_log", "clock_api": "CLOCK_MONOTONIC"} for i, e in
                  enumerate(("request_accepted", "request_admitted", "first_token", "response_finished"))]
        record = {"schema": "servelab.request-record.v1", "request_id": number, "attempt": half["attempt"],
                  "workload": {"model": "mock", "output_tokens": 3}, "events": server + events,
                  "outcome": {"delivered": True, "http_status": 200, "finish_reason": "stop", "error": None}}
        change(record, events)
        return json.dumps(record, separators=(",", ":")).encode()

    def earlier(record, events):
        events[1]["t_ns"] -= 1
        record["events"][5:6] = [events[1]]

    changes = [lambda r, e: None, earlier, lambda r, e: r.update(request_id="other"), lambda r, e: r["events"].pop(),
               lambda r, e: r.update(attempt=2), lambda r, e: e[0].update(scheduled_t_ns=5), lambda r, e: r.update(events=7),
               lambda r, e: r["events"].append(e[1])]
    for i, change in enumerate(changes):
        with MockServer(lambda r: answer(r, ["a", "b", "c"], first_s=0.02), records=lambda n, half: joined(n, half, change)) as s:
            run = Run(s.url, *AT_ONCE)
            r = subprocess.run([SERVELAB, "load", "--url", s.url, "--prompt", "p"], capture_output=True, text=True, timeout=60)
        counts = run.run["records"]
        equal((i, counts["joined"], counts["not_taken_by_server"]), (i, *((0, 3) if i else (3, 0))))
        equal((r.returncode, "no record with the half that was posted" in r.stderr), (0, i > 0), r.stderr)
        equal(run.summary["completed"], 3)


def without_usage_no_tokens_are_claimed():
    def script(request):
        return [part for part in answer(request, ["a", "b"], gap_s=0.01)[:-1]] + [chunk(finish="stop") + b"data: [DONE]\n\n"]
    with MockServer(script) as s:
        run = Run(s.url, "--arrivals-ms", "0,100,200", "--duration-s", "1", "--prompt-tokens", "5", "--output-tokens", "3")
        equal((run.summary["completed"], run.summary["achieved_rps"], run.summary["output_tokens_per_s"]), (3, 3, None), "not 0")
        command = [SERVELAB, "load", "--url", s.url, *AT_ONCE]
        assert "3 answers came without usage" in subprocess.run(command, capture_output=True, text=True, timeout=60).stdout


def a_usage_that_cant_be_gives_no_tpot():
    """Three tokens were asked for at most, and the server counts 3,000: a TPOT of microseconds."""
    with MockServer(lambda r: answer(r, ["a", "b", "c"], gap_s=0.02, tokens=3000)) as s, tempfile.TemporaryDirectory() as folder:
        run = Run(s.url, *AT_ONCE, folder=folder)
        equal((run.run["counts"]["more_tokens_than_asked"], run.summary["latency"]["tpot"]["p50_completed"]["n"]), (3, 0))
        with open(os.path.join(folder, "o.json"), "w") as f:
            json.dump({"schema": "servelab.objective.v1", "name": "o", "kind": "serving"}, f)
        r = subprocess.run([SERVELAB, "report", folder, "--objective", f.name, "--json"], capture_output=True, text=True, timeout=60)
        made = json.loads(r.stdout)
        equal(made["points"][0]["latency"]["tpot"], None)
        assert any("of 3 answers the server counts more tokens" in line for line in made["cannot_say"]), made["cannot_say"]


def a_warm_cache_is_stated():
    """The same prompts twice: the second run is faster because of the first one, and says so."""
    with RealServer("--backend", "none") as s:
        args = ("--arrivals-ms", "0,1,2", "--prompt-tokens", "64", "--output-tokens", "2", "--prompt-salt", "5")
        runs = [Run(f"http://127.0.0.1:{s.port}", *args) for _ in range(2)]
        equal([r.summary["cached_prompt_tokens"] for r in runs], [0, 3 * 48], "the last token is always computed")
        command = [SERVELAB, "load", "--url", f"http://127.0.0.1:{s.port}", *args]
        r = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert "144 of 192 prompt tokens came out of the server's prefix cache" in r.stdout, r.stdout


def each_latency_of_the_table_has_its_formula():
    with RealServer("--backend", "none") as s:
        r = subprocess.run([SERVELAB, "load", "--url", f"http://127.0.0.1:{s.port}", *AT_ONCE], capture_output=True, text=True, timeout=60)
    for label, formula in (("TTFT", "first text - scheduled send"), ("e2e", "end of the answer - scheduled send"),
                           ("TPOT", "(last - first token sent) / (output tokens - 1), a request"),
                           ("ITL", "token - token before, all of them pooled"), ("TTFT as sent", "first text - actual send"),
                           ("e2e as sent", "end of the answer - actual send"),
                           ("server TTFT", "first token - accepted, on the server's clock"),
                           ("queue delay", "admitted - accepted, on the server's clock")):
        assert re.search(rf"^  {label} +[\d.* ]+ {re.escape(formula)}$", r.stdout, re.M), f"{label}: {r.stdout}"


def a_text_in_one_piece_has_no_pace():
    """Three tokens in one chunk, or in three that one read brings: the time a token is not 0, it is not known. The load, the
    report and the check of a record say the same, of the answer with a pace, too."""
    texts = [lambda r: answer(r, ["a", "b", "c"], gap_s=0.05), lambda r: answer(r, ["x y z"], after_s=0.1, tokens=3),
             lambda r: [b"".join(part for part in answer(r, ["x", "y", "z"]) if isinstance(part, bytes))]]
    with MockServer(lambda r: texts[r.number](r)) as s, tempfile.TemporaryDirectory() as folder:
        run = Run(s.url, *AT_ONCE, folder=folder)
        tpot = run.summary["latency"]["tpot"]["p50_completed"]
        equal((tpot["n"], run.summary["in_one_piece_without_tpot"]), (1, 2))
        equal(run.summary["latency"]["itl"]["p50"]["n"], 2, "gaps of 0 ns are no gaps between tokens")
        what = os.path.join(folder, "objective.json")
        with open(what, "w") as f:
            json.dump({"schema": "servelab.objective.v1", "name": "o", "kind": "serving", "latency": [
                {"interval": "tpot", "percentile": 50, "below_ms": 1000, "scope": "population"}]}, f)
        r = subprocess.run([SERVELAB, "report", folder, "--objective", what, "--json"], capture_output=True, text=True, timeout=60)
        report = json.loads(r.stdout)
        of_report = report["points"][0]["latency"]["tpot"]["p50"]
        equal((of_report["of_completed_ns"], of_report["n"]), (tpot["ns"], 1))
        assert any("the text of 2 answers came in one piece" in line for line in report["cannot_say"]), report["cannot_say"]
        r = subprocess.run([SERVELAB, "record", "check", "--json", os.path.join(folder, "records.jsonl")], capture_output=True, text=True)
        equal(sum(record["tpot_ns"] is None for record in json.loads(r.stdout)["records"]), 2, r.stderr)
        equal(sum("has no tpot" in record["statement"] for record in run.records), 2)


def verdicts_come_with_the_records():
    with RealServer("--threads", "1") as s:
        run = Run(f"http://127.0.0.1:{s.port}", "--arrivals", "closed", "--clients", "1", "--requests", "6", "--check-share",
                  "0.5", "--prompt-tokens", "20", "--output-tokens", "4", "--seed", "3", "--completions")
        n = run.run["counts"]["check_prompts"]
        assert 0 < n < 6, n
        quality = run.summary["quality"]
        equal((quality["passed"] + quality["failed"], quality["not_evaluated"]), (n, 6 - n))
        judged = [r for r in run.records if r["quality"]["verdict"] != "not_evaluated"]
        equal(len(judged), n)
        equal(run.summary["useful"], quality["passed"])


TESTS = [both_halves_become_one_record, a_reply_that_is_no_record_spoils_nothing,
         a_record_with_another_half_is_not_taken, without_usage_no_tokens_are_claimed,
         a_usage_that_cant_be_gives_no_tpot, a_warm_cache_is_stated, each_latency_of_the_table_has_its_formula,
         a_text_in_one_piece_has_no_pace, verdicts_come_with_the_records]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
