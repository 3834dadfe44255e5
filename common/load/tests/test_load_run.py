#!/usr/bin/env python3
"""test_load_run.py: `servelab load` with a workload: its schedule, its stamps, its populations and its files, against a
scripted server whose own stamps bound the client's, and against the product's server.
"""
# servelab-test: waits long
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../serve/tests"))
from harness import SERVELAB, equal, run_tests, wait_until  # noqa: E402
from mock_openai import CLOSE, MockServer, Reply, answer, chunk, usage  # noqa: E402

MS = 1000 * 1000


class Run:
    """One run of the program: status, its JSON, its run file, its records."""

    def __init__(self, url, *args, status=(0, 1), folder=None):
        with tempfile.TemporaryDirectory() as made:
            self.folder = folder or made
            command = [SERVELAB, "load", "--url", url, "--out", self.folder, "--json", *map(str, args)]
            r = subprocess.run(command, capture_output=True, text=True, timeout=120)
            self.status, self.stdout, self.stderr = r.returncode, r.stdout, r.stderr
            assert self.status in status, f"{command}: {r.returncode} {r.stdout} {r.stderr}"
            out = json.loads(r.stdout)
            self.run, self.summary = out["run"], out["summary"]
            with open(os.path.join(self.folder, "run.json")) as f:
                equal(json.load(f), {**self.run, "paced": json.load(open(f.name))["paced"]}, "run.json and --json")
            with open(os.path.join(self.folder, "records.jsonl")) as f:
                self.records = [json.loads(line) for line in f]
            check = subprocess.run([SERVELAB, "record", "check", "--no-summary", os.path.join(self.folder, "records.jsonl")],
                                   capture_output=True, text=True, timeout=60)
            assert check.returncode == 0 or not self.records, check.stderr
        self.by_id = {r["request_id"]: r for r in self.records}

    def scheduled(self):
        """In ns since the schedule began."""
        first = self.run["schedule"]["first_t_ns"]
        return sorted(event(r, "request_submitted")["scheduled_t_ns"] - first for r in self.records)


def event(record, name):
    found = [e for e in record["events"] if e["event"] == name]
    return found[0] if found else None


def t(record, name):
    found = event(record, name)
    return found and found["t_ns"]


def short(request):
    return answer(request, ["a", "b", "c"])


AT_ONCE = ("--arrivals-ms", "0,1,2", "--prompt-tokens", "5", "--output-tokens", "3")


# ---- the schedule ----------------------------------------------------------------------------------------------------


def the_schedule_is_the_simulators():
    """The same flags and seed give the same arrivals and lengths as `servelab sim run`, to the nanosecond."""
    with tempfile.TemporaryDirectory() as folder, MockServer(short) as s:
        trace = os.path.join(folder, "trace.csv")
        with open(trace, "w") as f:
            f.write("arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,9,3\n0.25,7,2\n0.75,5,4\n0.75,1,1")
        for args in (["--arrivals", "poisson", "--rate-rps", "400", "--requests", "60", "--seed", "7"],
                     ["--arrivals", "gamma", "--cv", "2", "--rate-rps", "300", "--requests", "40", "--prompt-tokens", "3:9"],
                     ["--arrivals", "on-off", "--on-s", "0.05", "--off-s", "0.05", "--rate-rps", "300", "--requests", "40"],
                     ["--arrivals-ms", "0,0,0.125,30", "--prompt-tokens", "2", "--output-tokens", "1:8"],
                     ["--trace", trace, "--trace-format", "vidur", "--time-scale", "0.1"]):
            lengths = [] if "--trace" in args else ["--prompt-tokens", "4"] * ("--prompt-tokens" not in args)
            sim = subprocess.run([SERVELAB, "sim", "run", *args, *lengths, "--json", "--per-request"],
                                 capture_output=True, text=True, timeout=60)
            want = sorted(r["arrival_ns"] for r in json.loads(sim.stdout)["requests"])
            run = Run(s.url, *args, *lengths)
            equal(run.scheduled(), want, args)
            equal(run.run["workload"].get("list_ns"), want if "--arrivals-ms" in args else None, "run.json has a list's times")


def a_longer_run_begins_like_a_shorter_one():
    with MockServer(short) as s:
        args = ["--arrivals", "poisson", "--rate-rps", "200", "--prompt-tokens", "4"]
        by_count = Run(s.url, *args, "--requests", "30").scheduled()
        by_time = Run(s.url, *args, "--duration-s", "0.3").scheduled()
        n = min(len(by_count), len(by_time))
        equal(by_count[:n], by_time[:n])
        assert max(by_time) < 300 * MS and len(by_time) > 30
        assert len({len(Run(s.url, *args, "--duration-s", "0.2", "--seed", k).records) for k in range(1, 6)}) > 1, \
            "a Poisson count varies"


def the_offered_rate_does_not_drift():
    """Sends wait for an absolute time: the last one is due where the schedule says, however long each answer takes."""
    with MockServer(lambda r: answer(r, ["x"], first_s=0.05)) as s:
        times = ",".join(str(5 * i) for i in range(200))
        run = Run(s.url, "--arrivals-ms", times, "--prompt-tokens", "4", "--output-tokens", "1")
        equal(run.scheduled(), [5 * i * MS for i in range(200)])
        equal(run.summary["offered_rps"], 200 / 0.995)
        for r in run.records:
            sent = event(r, "request_submitted")
            assert sent["t_ns"] >= sent["scheduled_t_ns"], "nothing is sent before its time"


def latency_counts_from_the_scheduled_send():
    """One stream at a time is allowed: the second request waits in the client. That wait is in its latency, and in the lag."""
    with MockServer(lambda r: answer(r, ["x"], first_s=0.2)) as s:
        run = Run(s.url, *AT_ONCE, "--max-streams", "1", status=(1,))
        lags = sorted(t(r, "request_submitted") - event(r, "request_submitted")["scheduled_t_ns"] for r in run.records)
        assert lags[1] > 199 * MS and lags[2] > 398 * MS, lags
        equal(run.run["lag"]["max_ns"], lags[2])
        equal(run.run["lag"]["p50_ns"], lags[1])
        want = sorted(t(r, "first_byte_received") - event(r, "request_submitted")["scheduled_t_ns"] for r in run.records)
        equal([run.summary["latency"]["ttft"][p]["ns"] for p in ("p50", "p99")], [want[1], want[2]])
        want = sorted(t(r, "first_byte_received") - t(r, "request_submitted") for r in run.records)
        equal(run.summary["latency"]["ttft_as_sent"]["p99"]["ns"], want[2])
        want = sorted(t(r, "final_byte_received") - event(r, "request_submitted")["scheduled_t_ns"] for r in run.records)
        equal(run.summary["latency"]["e2e"]["p99"]["ns"], want[2])
        equal((run.run["valid"], run.run["client"]["max_streams_reached"]), (False, True))
        assert "sent late" in run.run["invalid_reasons"][0] and "streams" in run.run["invalid_reasons"][0]
        equal(s.open_most, 1)


def a_closed_loop_waits_and_thinks():
    with MockServer(lambda r: answer(r, ["x"], first_s=0.02)) as s:
        run = Run(s.url, "--arrivals", "closed", "--clients", "3", "--think-s", "0.01", "--requests", "20",
                  "--prompt-tokens", "4", "--output-tokens", "1")
        equal(len(run.records), 20)
        assert s.open_most <= 3, s.open_most
        open_now = most = 0
        for _, change in sorted([(t(r, "request_submitted"), 1) for r in run.records] +
                                [(t(r, "final_byte_received"), -1) for r in run.records]):
            open_now += change
            most = max(most, open_now)
        assert most <= 3, "by the client's own stamps, too"
        equal(run.run["workload"]["clients"], 3)


def a_closed_loop_does_not_storm_a_server_that_refuses():
    with MockServer(lambda r: [Reply(429)]) as s:
        run = Run(s.url, "--arrivals", "closed", "--clients", "2", "--duration-s", "0.55", "--prompt-tokens", "4")
        assert 2 <= len(run.records) <= 2 * 6, "each of the two asks at 0, 100, .. 500 ms at most"
        equal(run.summary["by_reason"]["rejected"], len(run.records))


def a_closed_loop_goes_on_until_its_time_is_over():
    """One client's pause lies beyond the end; what the other one's answer brings before the end is sent all the same."""
    with MockServer(lambda r: [[0.92, Reply(429)], answer(r, ["x"], first_s=0.94), short(r)][min(r.number, 2)]) as s:
        run = Run(s.url, "--arrivals", "closed", "--clients", "2", "--duration-s", "1", "--prompt-tokens", "4", "--output-tokens", "3")
        scheduled, first = run.scheduled(), run.run["schedule"]["first_t_ns"]
        ends = [t(r, "final_byte_received") - first for r in run.records if r["outcome"]["delivered"]]
        assert len(run.records) >= 2 and all(e in scheduled for e in ends if e < 1000 * MS), (scheduled, ends)
        assert max(scheduled) < 1000 * MS


def thousand_streams_are_open_at_once():
    """Nobody is answered until the client is stopped."""
    everybody = 1000
    with MockServer(lambda r: [60]) as s:
        process = subprocess.Popen([SERVELAB, "load", "--url", s.url, "--arrivals", "closed", "--clients", str(everybody),
                                    "--requests", str(everybody), "--prompt-tokens", "4", "--output-tokens", "1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        s.wait_for(lambda: len(s.requests) == everybody, "all streams")
        equal(s.open_most, everybody)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        equal(process.returncode, 130, err)
        s.wait_for(lambda: s.open_now == 0, "no stream is left open")


# ---- what is stamped -------------------------------------------------------------------------------------------------


def stamps_lie_between_the_servers():
    """Same machine, same clock: submitted, then the server has it, then it sends, then the client has the first text."""
    def script(request):
        role = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"text":""}]}\n\n'
        return answer(request, ["a", "b"], first_s=0.05, gap_s=0.05, before=[role], after_s=1)
    with MockServer(script) as s:
        run = Run(s.url, *AT_ONCE)
        equal(len(run.records), 3)
        for q in s.requests:
            r = run.by_id[q.id]
            role_ns, first_ns, last_ns, end_ns = q.sent_ns
            ahead = run.run["schedule"]["ahead_of_monotonic_ns"]
            assert t(r, "request_submitted") - ahead <= q.received_ns <= role_ns
            assert first_ns <= t(r, "first_byte_received") - ahead, "an empty first chunk is no first token"
            assert end_ns <= t(r, "final_byte_received") - ahead
            gap, = r["client"]["chunk_gaps_ns"]
            # two answers at least 50 ms apart at the server; TPOT ends with the last text, not with usage or [DONE]
            first = t(r, "first_byte_received")
            assert first - ahead + gap >= last_ns and first + gap < t(r, "final_byte_received") - 50 * MS
        gaps = sorted(r["client"]["chunk_gaps_ns"][0] for r in run.records)
        equal(run.summary["latency"]["tpot"]["p99"]["ns"], gaps[2], "(last - first text) / (2 - 1)")
        equal(run.summary["latency"]["itl"]["p50"], {"ns": gaps[1], "infinite": False, "n": 3, "failed": 0, "few": False})
        assert "text" in run.summary["latency"]["tpot"]["formula"]
        assert "chunk" in run.summary["latency"]["itl"]["formula"], "a gap between chunks is not called one of tokens"


def empty_and_one_token_answers():
    """No text: no TTFT, the request isn't delivered. One token: TTFT, no TPOT; the record stays."""
    with MockServer(lambda r: answer(r, [] if r.number == 0 else ["x"])) as s:
        run = Run(s.url, *AT_ONCE)
        equal(len(run.records), 3)
        empty = run.by_id[s.requests[0].id]
        equal((t(empty, "first_byte_received"), empty["outcome"]["delivered"]), (None, False))
        latency = run.summary["latency"]
        equal((latency["ttft"]["p50"]["n"], latency["ttft"]["p50"]["failed"]), (3, 1))
        equal((latency["ttft"]["p99"]["ns"], latency["ttft"]["p99"]["infinite"]), (None, True))
        equal((latency["tpot"]["p50_completed"]["n"], latency["tpot"]["p50_completed"]["ns"]), (0, None))
        equal((latency["itl"]["p50"]["n"], latency["itl"]["p50"]["ns"]), (0, None), "an empty list prints no 0")


def the_achieved_length_divides():
    """Four tokens were asked for, two came in one chunk, three in all: TPOT is over 3 - 1."""
    with MockServer(lambda r: answer(r, ["x", "y z"], gap_s=0.05, tokens=3)) as s:
        run = Run(s.url, "--arrivals-ms", "0", "--prompt-tokens", "5", "--output-tokens", "4")
        gap = run.records[0]["client"]["chunk_gaps_ns"][0]
        equal(run.summary["latency"]["tpot"]["p50"]["ns"], (gap + 1) // 2)
        equal(run.run["counts"]["shorter_than_asked"], 1)
        equal(run.summary["output_tokens_per_s"], None, "one instant is no window")
        assert any("the measured window is one instant" in reason for reason in run.run["invalid_reasons"]), run.run


def the_servers_usage_counts():
    """More chunks with text than tokens can't be; another prompt length than was sent is reported."""
    def script(request):
        body = chunk("a") + chunk("b") + chunk(finish="stop") + usage(77, 1) + b"data: [DONE]\n\n"
        return [body]
    with MockServer(script) as s:
        run = Run(s.url, *AT_ONCE, "--prompt-form", "ids")
        equal((run.run["counts"]["more_chunks_than_tokens"], run.run["counts"]["prompt_tokens_differ"]), (3, 3))
        equal({r["workload"]["output_tokens"] for r in run.records}, {1})


# ---- failures --------------------------------------------------------------------------------------------------------


def failures_stay_in_the_denominator():
    error = b'data: {"error": {"message": "it broke"}}\n\n'
    scripts = [lambda r: short(r), lambda r: [Reply(429, b'{"error":{"message":"full"}}', [("Retry-After", "1")])],
               lambda r: [chunk("half"), error], lambda r: [chunk("half")], lambda r: [Reply(500)],
               lambda r: [CLOSE], lambda r: [chunk("half"), CLOSE], lambda r: answer(r, ["x"], finish=None),
               lambda r: answer(r, ["x"], finish="length"), lambda r: short(r)]
    with MockServer(lambda r: scripts[int(r.id.split("-")[2]) - 1](r)) as s:
        times = ",".join(str(40 * i) for i in range(len(scripts)))
        run = Run(s.url, "--arrivals-ms", times, "--prompt-tokens", "5", "--output-tokens", "3")
        equal((run.summary["requests"], run.summary["completed"]), (10, 3), "length counts as asked for")
        reasons = {k: n for k, n in run.summary["by_reason"].items() if n}
        equal(reasons, {"delivered": 3, "rejected": 1, "in_band_error": 1, "internal_error": 1, "not_delivered": 3,
                        "no_finish_reason": 1}, "a connection that breaks is not an error that the server stated")
        p50, p50_ok = (run.summary["latency"]["e2e"][k] for k in ("p50", "p50_completed"))
        equal((p50["n"], p50["failed"], p50["infinite"], p50_ok["n"], p50_ok["infinite"]), (10, 7, True, 3, False))
        equal(len(s.requests), 10, "nothing is sent twice")
        equal({r["attempt"] for r in run.records}, {1})


def a_kept_connection_that_breaks_is_no_hidden_retry():
    """The server takes the second request on a kept connection and hangs up: libcurl alone would send it again."""
    seen = {}

    def script(request):
        seen[request.connection] = seen.get(request.connection, 0) + 1
        return [CLOSE] if seen[request.connection] == 2 else short(request)
    with MockServer(script) as s:
        run = Run(s.url, "--arrivals-ms", "0,300", "--prompt-tokens", "5", "--output-tokens", "3")
        equal([len(s.requests), s.requests[0].connection], [2, s.requests[1].connection])
        equal((run.run["counts"]["kept_connection_broke"], run.summary["completed"]), (1, 1))
        assert "isn't sent again" in run.by_id[s.requests[1].id]["outcome"]["error"]


def a_request_that_takes_too_long():
    with MockServer(lambda r: [chunk("x"), 60] if r.number == 0 else short(r)) as s:
        run = Run(s.url, *AT_ONCE, "--timeout-s", "1")
        equal(run.summary["by_reason"]["timed_out"], 1)
        s.wait_for(lambda: s.requests[0].gone_ns, "the client has gone away")


def no_server_is_bad_input():
    r = subprocess.run([SERVELAB, "load", "--url", "http://127.0.0.1:1", *AT_ONCE], capture_output=True, text=True, timeout=60)
    equal(r.returncode, 2)
    assert "--url" in r.stderr, r.stderr


# ---- populations -----------------------------------------------------------------------------------------------------


def warm_up_and_cool_down():
    """Requests at 0, 100, .. 900 ms, each answered after 150 ms; the window is 200 to 700 ms, both ends included."""
    with MockServer(lambda r: answer(r, ["x"], first_s=0.15)) as s:
        times = ",".join(str(100 * i) for i in range(10))
        run = Run(s.url, "--arrivals-ms", times, "--warm-up-s", "0.2", "--cool-down-s", "0.2", "--prompt-tokens", "4",
                  "--output-tokens", "1")
        counts = run.run["counts"]
        equal((counts["requests"], counts["in_window"], run.summary["requests"]), (10, 6, 6))
        window = run.run["schedule"]
        equal((window["window_to_t_ns"] - window["window_from_t_ns"]), 500 * MS)
        first, low, high = window["first_t_ns"], window["window_from_t_ns"], window["window_to_t_ns"]
        pairs = [(event(r, "request_submitted")["scheduled_t_ns"], t(r, "final_byte_received")) for r in run.records]
        # the transfer's end is stamped where the last byte is
        equal(counts["straddle_warm_up"], sum(a < low <= b <= high for a, b in pairs))
        equal(counts["straddle_end"], sum(low <= a <= high < b for a, b in pairs))
        assert counts["straddle_warm_up"] >= 1 and counts["straddle_end"] >= 2, counts
        equal(run.summary["latency"]["e2e"]["p50"]["n"], 6)
        equal(run.summary["achieved_rps"], sum(low <= b <= high for _, b in pairs) / 0.5)
        equal(first, min(a for a, _ in pairs))


def percentiles_say_when_they_are_of_too_few():
    with MockServer(short) as s:
        run = Run(s.url, *AT_ONCE)
        p99 = run.summary["latency"]["ttft"]["p99"]
        equal((p99["n"], p99["few"]), (3, True))
        equal(run.summary["latency"]["ttft"]["p50"]["few"], False)


def an_objective_is_judged_from_the_schedule():
    objective = {"schema": "servelab.objective.v1", "name": "o", "kind": "serving",
                 "latency": [{"interval": "client_ttft", "percentile": 99, "below_ms": 150, "scope": "population"},
                             {"interval": "e2e", "below_ms": 150, "scope": "request"}]}
    with tempfile.TemporaryDirectory() as folder, MockServer(lambda r: answer(r, ["x"], first_s=0.1)) as s:
        path = os.path.join(folder, "o.json")
        with open(path, "w") as f:
            json.dump(objective, f)
        run = Run(s.url, *AT_ONCE, "--max-streams", "1", "--objective", path, status=(1,))
        equal(run.summary["objective"]["verdict"], "missed", "as sent, each took 100 ms; from the schedule, the last took 300")
        equal((run.summary["within_limits"] <= 1, run.summary["good"]), (True, 0), "nobody judged the answers")
        with open(path, "w") as f:
            f.write("{")
        r = subprocess.run([SERVELAB, "load", "--url", s.url, *AT_ONCE, "--objective", path], capture_output=True, text=True)
        equal(r.returncode, 2)
        assert path in r.stderr


# ---- prompts ---------------------------------------------------------------------------------------------------------


def prompts_are_distinct_and_repeatable():
    def asked(*args):
        with MockServer(short) as s:
            run = Run(s.url, "--arrivals-ms", "0,5,10", "--prompt-tokens", "40", "--output-tokens", "3", *args)
            requests = sorted(s.requests, key=lambda q: int(q.id.split("-")[2]))
            return [q.body["prompt"] for q in requests if "prompt" in q.body] or \
                [q.body["messages"][0]["content"] for q in requests], run.run["workload"]
    ids, told = asked("--prompt-form", "ids", "--prompt-salt", "5")
    equal([len(p) for p in ids], [40] * 3)
    equal((told["prompts"], told["prompt_salt"], told["route"]), ("token_ids", 5, "/v1/completions"))
    assert ids[0][:16] != ids[1][:16] and max(map(max, ids)) < 256
    equal(asked("--prompt-form", "ids", "--prompt-salt", "5")[0], ids, "the same salt, the same prompts")
    assert asked("--prompt-form", "ids")[0][0] != asked("--prompt-form", "ids")[0][0], \
        "without it no run meets what the one before left in a prefix cache"
    shared = asked("--prompt-form", "ids", "--shared-prefix", "10")[0]
    equal(len({tuple(p[:10]) for p in shared}), 1)
    equal(len({tuple(p[10:]) for p in shared}), 3)
    words, told = asked()
    equal([len(p.split()) for p in words], [40] * 3, "a server that nobody knows gets words")
    equal((told["prompts"], told["route"]), ("words", "/v1/chat/completions"))
    assert len(set(words)) == 3
    equal(asked("--completions")[1]["route"], "/v1/completions")


def what_is_asked_for():
    with MockServer(short) as s:
        Run(s.url, "--arrivals-ms", "0", "--prompt-tokens", "5", "--output-tokens", "7")
        Run(s.url, "--arrivals-ms", "0", "--prompt-tokens", "5", "--output-tokens", "7", "--ignore-eos", "--temperature", "0.5")
        plain, told = s.requests[0].body, s.requests[1].body
        equal((plain["max_tokens"], plain["stream"], plain["model"], plain.get("ignore_eos")), (7, True, "mock", None),
              "a field that others refuse only goes to a server that takes it, or where it is asked for")
        equal((told["ignore_eos"], told["temperature"]), (True, 0.5))


def a_trace_with_prefixes_shares_them():
    with tempfile.TemporaryDirectory() as folder, MockServer(short) as s:
        trace = os.path.join(folder, "trace.jsonl")
        with open(trace, "w") as f:
            for at, hashes in ((0, [1, 2]), (10, [1, 3]), (20, [4, 2])):
                f.write(json.dumps({"timestamp": at, "input_length": 700, "output_length": 2, "hash_ids": hashes}) + "\n")
        Run(s.url, "--trace", trace, "--trace-format", "mooncake", "--prompt-form", "ids")
        a, b, c = (q.body["prompt"] for q in sorted(s.requests, key=lambda q: int(q.id.split("-")[2])))
        equal((a[:512] == b[:512], a[512:] == b[512:], a[:512] == c[:512], a[512:] == c[512:]), (True, False, False, True))


def checkable_prompts_by_share():
    def presets(path):
        seed = path.split("=")[1]
        return {"presets": [{"name": f"key-recall/1:{seed}", "prompt": f"recall {seed}", "prompt_tokens": 2, "max_tokens": 9}]}
    with MockServer(short, presets=presets) as s:
        times = ",".join(str(2 * i) for i in range(200))
        run = Run(s.url, "--arrivals-ms", times, "--check-share", "0.25", "--prompt-tokens", "4", "--output-tokens", "3")
        asked = [q for q in s.requests if "x-quality-check" in q.headers]
        assert 25 <= len(asked) <= 80 and run.run["counts"]["check_prompts"] == len(asked), len(asked)
        for q in asked:
            name = q.headers["x-quality-check"]
            equal((q.body["messages"][0]["content"], q.body["max_tokens"]), (f"recall {name.split(':')[1]}", 9))
        equal(len({q.headers["x-quality-check"] for q in asked}), min(len(asked), 64), "each of those fetched before any twice")
        last_get = s.gets.index(f"/v1/presets?seed={asked[0].headers['x-quality-check'].split(':')[1]}")
        assert last_get >= 0 and all(g.startswith(("/v1/", "/health")) for g in s.gets)
    def english(path):
        assert path.endswith("&wording=plain"), path
        return {"presets": [{"name": "plain-recall/1:1", "prompt": "find", "prompt_tokens": 2, "max_tokens": 9}]}
    with MockServer(short, presets=english) as s:
        run = Run(s.url, *AT_ONCE, "--check-share", "1", "--check-wording", "plain")
        equal({q.headers["x-quality-check"] for q in s.requests}, {"plain-recall/1:1"})
    with MockServer(short) as s:
        r = subprocess.run([SERVELAB, "load", "--url", s.url, *AT_ONCE, "--check-share", "0.5"], capture_output=True, text=True)
        equal(r.returncode, 2)
        assert "--check-share" in r.stderr, r.stderr


# ---- files, the live line, interruption ------------------------------------------------------------------------------


def a_folder_is_not_written_over():
    with tempfile.TemporaryDirectory() as folder, MockServer(short) as s:
        first = Run(s.url, *AT_ONCE, folder=folder)
        r = subprocess.run([SERVELAB, "load", "--url", s.url, *AT_ONCE, "--out", folder], capture_output=True, text=True)
        equal(r.returncode, 2)
        assert "--out" in r.stderr and "--force" in r.stderr, r.stderr
        with open(os.path.join(folder, "records.jsonl")) as f:
            equal([json.loads(line) for line in f], first.records)
        equal(len(s.requests), 3, "nothing was sent for it")
        Run(s.url, *AT_ONCE, "--force", folder=folder)


def the_run_file_says_what_was_run():
    models = {"object": "list", "data": [{"id": "m7", "object": "model", "owned_by": "them", "vocab_size": 5000}]}
    with MockServer(short, models=models, health={"status": "ok", "version": "9"}) as s:
        run = Run(s.url, "--arrivals", "gamma", "--cv", "0.5", "--rate-rps", "100", "--requests", "5", "--prompt-tokens", "3:4",
                  "--seed", "11", "--prompt-form", "ids")
        r = run.run
        equal((r["schema"], r["interrupted"], r["paced"]), ("servelab.run.v1", False, None))
        w = r["workload"]
        equal((w["arrivals"], w["cv"], w["rate_rps"], w["requests"], w["seed"], w["prompt_tokens"], w["output_tokens"]),
              ("gamma", 0.5, 100, 5, 11, {"lo": 3, "hi": 4}, {"lo": 128, "hi": 128}))
        equal((r["server"]["model"], r["server"]["models"], r["server"]["health_after"]), ("m7", models, {"status": "ok", "version": "9"}))
        equal((r["server"]["keeps_records"], w["prompt_ids_below"]), (False, 5000))
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", r["started_utc"])
        assert "--seed 11" in r["command_line"] and r["client"]["libcurl"] and "CPU" in r["client"]["machine"]


def a_paced_server_is_named_first():
    steps = iter([(100, 0), (300, 50)])

    def health(path):
        n, late = next(steps)
        return {"status": "ok", "pace": {"label": "llama-2-7b on h100", "steps": n, "late": late}}
    with MockServer(short, health=health) as s:
        command = [SERVELAB, "load", "--url", s.url, *AT_ONCE]
        r = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert r.stdout.startswith("PACED: llama-2-7b on h100, simulated"), r.stdout
        equal(r.returncode, 1)
        assert "late at 50 of 200 steps" in r.stdout, r.stdout


def an_address_may_end_in_v1():
    with MockServer(short) as s:
        for end in ("/", "/v1", "/v1/", "//v1//"):
            equal(Run(s.url + end, *AT_ONCE).summary["completed"], 3, end)
        equal({g for g in s.gets if "/v1/v1" in g or "//" in g}, set())
    r = subprocess.run([SERVELAB, "load", "--url", "/v1/", *AT_ONCE], capture_output=True, text=True, timeout=60)
    equal(r.returncode, 2)
    assert "--url: '/v1/' is not an address" in r.stderr, r.stderr


def the_live_line():
    with MockServer(lambda r: answer(r, ["x", "y"], first_s=0.05)) as s:
        r = subprocess.run([SERVELAB, "load", "--url", s.url, "--arrivals", "poisson", "--rate-rps", "30", "--duration-s", "4.5",
                            "--prompt-tokens", "4", "--output-tokens", "1"], capture_output=True, text=True, timeout=60)
        lines = [line for line in r.stderr.splitlines() if " sent/s, " in line]
        assert len(lines) >= 2, r.stderr
        form = (r"\d+ s: [\d.]+ sent/s, \d+ in flight, \d+ ended, \d+ failed, TTFT p50 [\d.]+ p99 [\d.]+ ms, "
                r"e2e p50 [\d.]+ p99 [\d.]+ ms, (\d+ s left|waiting for the last answers)")
        assert all(re.fullmatch(form, line) for line in lines), lines
        for part in ("offered", "achieved", "completed", "TTFT", "TPOT", "e2e", "scheduled send", "lag"):
            assert part in r.stdout, f"{part} is not in the table: {r.stdout}"


def the_live_line_says_when_all_is_sent():
    with MockServer(lambda r: [chunk("x"), 60]) as s:
        process = subprocess.Popen([SERVELAB, "load", "--url", s.url, "--arrivals", "poisson", "--rate-rps", "100", "--requests",
                                    "1", "--prompt-tokens", "4", "--output-tokens", "3"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        line = next((line for line in process.stderr if " sent/s, " in line), "")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert line.endswith(", waiting for the last answers\n"), line


def nothing_is_lost_when_it_is_stopped():
    with tempfile.TemporaryDirectory() as folder, MockServer(lambda r: short(r) if r.number < 5 else [chunk("x"), 60]) as s:
        process = subprocess.Popen([SERVELAB, "load", "--url", s.url, "--arrivals-ms", "0,1,2,3,4,100,101,3600000", "--out",
                                    folder, "--json", "--prompt-tokens", "4", "--output-tokens", "3"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        s.wait_for(lambda: len(s.requests) == 7 and s.requests[6].sent_ns, "two requests that hang")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        equal(process.returncode, 130, err)
        run = json.loads(out)["run"]
        equal((run["interrupted"], run["valid"]), (True, False))
        assert "the load was interrupted" in run["invalid_reasons"]
        with open(os.path.join(folder, "records.jsonl")) as f:
            records = [json.loads(line) for line in f]
        equal((len(records), sum(r["outcome"]["delivered"] for r in records)), (7, 5))
        equal(sorted(r["client"]["problem"] or "" for r in records)[-2:], ["interrupted: the load was stopped"] * 2)
        with open(os.path.join(folder, "run.json")) as f:
            equal(json.load(f)["counts"]["interrupted"], 2)
        s.wait_for(lambda: s.open_now == 0, "the streams are closed")


def a_server_that_ends_during_the_run():
    with tempfile.TemporaryDirectory() as folder:
        port_file = os.path.join(folder, "port")
        server = subprocess.Popen([SERVELAB, "serve", "--backend", "none", "--port", "0", "--port-file", port_file, "--json"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        url = json.loads(server.stdout.readline())["url"]
        load = subprocess.Popen([SERVELAB, "load", "--url", url, "--arrivals-ms", "0,1,1500", "--json", "--prompt-tokens", "4",
                                 "--output-tokens", "3"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        wait_until(lambda: len(json.load(urllib.request.urlopen(f"{url}/v1/records"))["data"]) == 2, "two requests were accepted")
        server.kill()
        server.wait()
        server.stdout.close()
        run = json.loads(load.communicate(timeout=60)[0])["run"]
        equal(run["valid"], False)
        assert any("GET /health before the run but not after it: it ended" in reason for reason in run["invalid_reasons"]), run


def flags_of_the_other_kind():
    for args, part in ((["--prompt", "p", "--rate-rps", "3"], "--rate-rps needs a workload"),
                       ([*AT_ONCE, "--max-tokens", "3"], "--output-tokens"),
                       ([*AT_ONCE, "--record", "x"], "--record has no meaning"),
                       (["--arrivals", "poisson", "--rate-rps", "3"], "--duration-s"),
                       (["--arrivals", "poisson", "--requests", "3"], "--rate-rps"),
                       (["--arrivals", "closed", "--requests", "3"], "--clients"),
                       ([*AT_ONCE, "--rate-rps", "3"], "--rate-rps"),
                       ([*AT_ONCE, "--prompt", "p"], "exclude each other"),
                       (["--arrivals", "uniform", "--requests", "3"], "uniform"),
                       ([*AT_ONCE, "--max-streams", "1000000"], "ulimit"),
                       (["--trace", "/nonexistent", "--trace-format", "azure"], "/nonexistent")):
        with MockServer(short) as s:
            r = subprocess.run([SERVELAB, "load", "--url", s.url, *args], capture_output=True, text=True, timeout=60)
        equal(r.returncode, 2, f"{args}: {r.stderr}")
        assert part in r.stderr, f"{args}: {r.stderr}"


TESTS = [the_schedule_is_the_simulators, a_longer_run_begins_like_a_shorter_one, the_offered_rate_does_not_drift,
         latency_counts_from_the_scheduled_send, a_closed_loop_waits_and_thinks,
         a_closed_loop_does_not_storm_a_server_that_refuses, a_closed_loop_goes_on_until_its_time_is_over,
         thousand_streams_are_open_at_once, stamps_lie_between_the_servers, empty_and_one_token_answers,
         the_achieved_length_divides, the_servers_usage_counts, failures_stay_in_the_denominator,
         a_kept_connection_that_breaks_is_no_hidden_retry, a_request_that_takes_too_long, no_server_is_bad_input,
         warm_up_and_cool_down, percentiles_say_when_they_are_of_too_few, an_objective_is_judged_from_the_schedule,
         prompts_are_distinct_and_repeatable, what_is_asked_for, a_trace_with_prefixes_shares_them,
         checkable_prompts_by_share, a_folder_is_not_written_over, the_run_file_says_what_was_run,
         a_paced_server_is_named_first, an_address_may_end_in_v1, the_live_line, the_live_line_says_when_all_is_sent,
         nothing_is_lost_when_it_is_stopped, a_server_that_ends_during_the_run, flags_of_the_other_kind]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
