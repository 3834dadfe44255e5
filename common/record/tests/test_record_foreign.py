#!/usr/bin/env python3
"""test_record_foreign.py: logs of a server whose clients send no half of a record, such as foreign load generators:
`record check` counts such requests as finished_by_server and shows the server's intervals of them."""
import json

from record_cli import Files, check, equal, event, find, finish, lost, record, run

files = Files()
MS = 1000000
SERVERS = ("server_ttft", "queue_delay", "tpot")


def foreign(i, finish_reason="length", tokens=4):
    """accepted at 70 ms, admitted 1 + i us later, first token 5 ms + i us, then a token every 2 ms + i us."""
    us = 1000
    r = record(f"f-{i}")
    first = 75 * MS + i * us
    sent = [event("token_sent", first + 100 + n * (2 * MS + i * us), tokens=1) for n in range(tokens)]
    r["events"] = [event("request_accepted", 70 * MS), event("tokenization_finished", 70 * MS + 500),
                   event("request_admitted", 70 * MS + (1 + i) * us), event("first_token", first), *sent,
                   event("response_finished", sent[-1]["t_ns"] + 50)]
    r["workload"]["output_tokens"] = tokens
    r["outcome"] = {"delivered": False, "http_status": 200, "finish_reason": finish_reason, "error": None}
    r["quality"] = {"check": None, "verdict": "not_evaluated"}
    return r


def log(n_foreign, n_ordinary, n_refused):
    """Interleaved, so that no order helps."""
    records = [foreign(i, ("length", "stop")[i % 2]) for i in range(n_foreign)]
    records[3:3] = [record(f"o-{i}", ms=500 + i) for i in range(n_ordinary)]
    records[1:1] = [lost(f"l-{i}") for i in range(n_refused)]
    return records


def summary(records, *flags, rc=0):
    got, out, err = run("--json", *flags, files.write(*records))
    check(f"exit status {rc}", got == rc, f"{got}: {err}")
    return json.loads(out)["summary"]


def nearest_rank(values, failed, p):
    """(value or None when it is infinite or there is none, n, failed)"""
    n = len(values) + failed
    rank = -(-p * n // 100)
    return (sorted(values)[rank - 1] if 0 < rank <= len(values) else None, n, failed)


def measured(records, interval):
    """The interval of each record that has it, computed here."""
    def of(r):
        at = {}
        for e in r["events"]:
            at.setdefault(e["event"], []).append(e["t_ns"])
        if interval == "tpot":
            if "token_sent" in at:
                return (at["token_sent"][-1] - at["token_sent"][0]) // (r["workload"]["output_tokens"] - 1)
            span = at["final_byte_received"][0] - at["first_byte_received"][0]
            return (2 * span + 180) // (2 * 180)
        a, b = {"server_ttft": ("request_accepted", "first_token"), "queue_delay": ("request_accepted", "request_admitted"),
                "client_ttft": ("request_submitted", "first_byte_received"),
                "e2e": ("request_submitted", "final_byte_received")}[interval]
        return at[b][0] - at[a][0] if a in at and b in at else None
    return [v for v in map(of, (r for r in records if r["request_id"][0] != "l")) if v is not None]


def percentiles_are_those_of_the_records(name, records, n_refused):
    s = summary(records)
    got = {(p["interval"], p["percentile"], p["population"]): (p["value_ns"], p["n"], p["failed"])
           for p in s["percentiles"] if p["interval"] != "gpu_execution"}
    want = {}
    for interval in (*SERVERS, "client_ttft", "e2e"):
        values = measured(records, interval)
        for p in (50, 90, 99):
            want[interval, p, "all"] = nearest_rank(values, n_refused, p)
            want[interval, p, "completed"] = nearest_rank(values, 0, p)
    equal(name, got, want)
    return s


def a_thousand():
    s = percentiles_are_those_of_the_records("percentiles_of_1000_foreign_requests", log(1000, 0, 0), 0)
    equal("their_class", {k: n for k, n in s["by_reason"].items() if n}, {"finished_by_server": 1000})
    equal("never_completed_or_useful", (s["completed"], s["useful"], s["requests"]), (0, 0, 1000))
    text = run("--tables", "0", files.write(*log(1000, 0, 0)))[1]
    check("no_percentile_is_infinite", "+infinity" not in text.replace('is +infinity;', ""), text)
    rows = [line.split() for line in text.splitlines()]
    check("golden_counts", "  completed 0 of 1000: finished_by_server 1000\n" in text, text)
    check("golden_server_row", ["server_ttft", "p50", "5.499", "ms", "1000", "0", "5.499", "ms", "1000"] in rows, text)
    check("golden_client_row", ["client_ttft", "p50*", "absent", "0", "0", "absent", "0"] in rows, text)


def mixed():
    records = log(1000, 40, 10)
    s = percentiles_are_those_of_the_records("percentiles_of_a_mixed_log", records, 10)
    equal("each_class", {k: n for k, n in s["by_reason"].items() if n},
          {"delivered": 40, "rejected": 10, "finished_by_server": 1000})
    equal("the_classes_add_up", sum(s["by_reason"].values()), s["requests"])
    text = run("--tables", "0", files.write(*records))[1]
    check("the_text_names_the_class", "completed 40 of 1050: delivered 40, rejected 10, finished_by_server 1000" in text and
          "the client's half never came" in text, text)
    check("without_such_a_request_nothing_is_said", "finished_by_server" not in
          run("--tables", "0", files.write(*log(0, 3, 1)))[1])


def objectives():
    path = files.folder.name + "/objective.json"

    def judge(records, failures, interval, flags=("--json",)):
        with open(path, "w") as f:
            json.dump({"schema": "servelab.objective.v1", "name": "o", "kind": "serving",
                       "latency": [{"interval": interval, "percentile": 50, "below_ms": 900, "scope": "population"}],
                       "reliability": {"max_failure_rate": 0.009, "failures": failures}}, f)
        return run(*flags, "--objective", path, files.write(*records))

    records = log(1000, 40, 10)
    for interval, answer in (("server_ttft", "met"), ("tpot", "met"), ("client_ttft", "not_computable"),
                             ("e2e", "not_computable")):
        rc, out, _ = judge(records, ["timed_out"], interval)
        o = json.loads(out)["summary"]["objective"]
        equal(f"a_limit_on_{interval}", (rc, o["limits"][0]["answer"], o["verdict"], o["limits"][0]["value_ns"] is None),
              (0, answer, answer, answer != "met"))
        equal(f"a_reason_for_{interval}", "1000 requests have no client's half" in o["limits"][0].get("answer_reason", ""),
              answer != "met")
    text = judge(records, ["timed_out"], "client_ttft", ("--tables", "0"))[1]
    check("the_reason_in_text", "absent below 900.000 ms: not_computable" in text and
          "1000 requests have no client's half, so this interval of theirs wasn't measured" in text, text)
    for failures, rate in ((["not_delivered"], "met"), (["not_delivered", "rejected"], "missed")):
        rc, out, _ = judge(records, failures, "server_ttft")
        o = json.loads(out)["summary"]["objective"]
        equal(f"failures {failures}: such a request is none", (o["failure_rate"], rc), (rate, rate == "missed"))
    o = json.loads(judge(log(0, 40, 0), ["timed_out"], "client_ttft")[1])["summary"]["objective"]
    equal("ordinary_requests_alone_are_judged", o["limits"][0]["answer"], "met")


def one_record():
    def reason(change):
        r = foreign(5, "stop")
        change(r)
        rc, out, err = run("--json", files.write(r))
        check("valid", rc == 0, err)
        got = json.loads(out)
        return got["completion_reason"], got["completion"], got["useful"]

    def without(name):
        return lambda r: r["events"].remove(find(r, name))

    def outcome(**fields):
        return lambda r: r["outcome"].update(fields)

    def add(e):
        return lambda r: r["events"].append(e)

    def empty(r):
        r["events"] = [e for e in r["events"] if e["event"] not in ("first_token", "token_sent")]
        r["workload"]["output_tokens"] = 0

    mine, other = ("finished_by_server", "incomplete", False), ("not_delivered", "incomplete", False)
    for name, change, want in (
            ("as_it_is", lambda r: None, mine),
            ("no_status", outcome(http_status=None), mine),
            ("ended_by_its_length", outcome(finish_reason="length"), mine),
            ("the_server_did_not_finish", without("response_finished"), other),
            ("no_first_token", without("first_token"), other),
            ("an_empty_answer", empty, mine),
            ("never_admitted", without("request_admitted"), other),
            ("no_finish_reason", outcome(finish_reason=None), other),
            ("another_status", outcome(http_status=404), other),
            ("an_error_without_a_status", outcome(http_status=None, error="oops"), other),
            ("an_error_in_band", outcome(error="oops"), ("in_band_error", *other[1:])),
            ("a_client_that_sent_and_got_nothing", add(event("request_submitted", 1)), other),
            ("half_of_a_client", add(event("first_byte_received", 1)), other)):
        equal(f"one_record: {name}", reason(change), want)
    text = run(files.write(foreign(5)))[1]
    check("the_text_of_one_record", "incomplete (finished_by_server)" in text and
          "experienced: not measured; the server finished the answer" in text, text)
    # of several attempts the last decides, whichever class it has
    s = summary([lost("f-5"), {**foreign(5), "attempt": 2}, foreign(6), {**lost("f-6"), "attempt": 2}])
    equal("the_last_attempt_decides", (s["by_reason"]["finished_by_server"], s["by_reason"]["rejected"]), (1, 1))


a_thousand()
mixed()
objectives()
one_record()
finish()
