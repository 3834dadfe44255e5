#!/usr/bin/env python3
"""test_record_metrics.py: mistakes that break serving measurements (the table of common errors in the handout of
lab 01), as far as a record shows them. Lab 01's functions have their own tests; this one asks `servelab record check`,
so that no answer is lost between the functions and the reader."""
import copy
import json
import os

from record_cli import FIXTURES, Files, check, equal, event, find, finish, lost, record, run, with_sent

files = Files()
MS = 1000000


def one(r):
    rc, out, err = run("--json", files.write(r))
    return json.loads(out) if rc == 0 else {"error": json.loads(out)["error"], "rc": rc}


def several(*records, flags=()):
    rc, out, _ = run("--json", *flags, files.write(*records))
    return json.loads(out)["summary"] if rc in (0, 1) else None


def percentile(summary, interval, p, population):
    return next(x for x in summary["percentiles"]
                if (x["interval"], x["percentile"], x["population"]) == (interval, p, population))


def refused(name, r, field, says):
    got = one(r)
    e = got.get("error", {})
    check(name, got.get("rc") == 2 and e.get("field") == field and says in e["message"], str(got))


def first_token_and_denominators():
    r = with_sent(record(ms=210), [(75, 0), (280, 1), (300, 1), (320, 1)])  # a role-only chunk 5 ms after acceptance
    got = one(r)
    equal("role_only_chunk_is_not_the_first_token", (got["server_ttft_ns"], got["tpot_ns"], got["tpot_boundary"]),
          (200 * MS, 20 * MS, "token_sent"))

    empty = record()
    empty["events"] = [e for e in empty["events"] if e["event"] not in ("first_token", "first_byte_received")]
    empty["outcome"]["delivered"] = False
    empty["workload"]["output_tokens"] = 0
    got = one(empty)
    equal("empty_reply_has_no_ttft", (got["client_ttft_ns"], got["server_ttft_ns"], got["tpot_ns"],
                                         got["tpot_boundary"]), (None, None, None, None))
    single = record()
    single["workload"]["output_tokens"] = 1
    got = one(single)
    equal("one_token_has_no_tpot_and_the_record_is_kept",
          (got["tpot_ns"], got["tpot_boundary"], got["e2e_ns"], got["useful"]), (None, None, 5000 * MS, True))
    text = run(files.write(single))[1]
    check("absent_is_printed_as_absent", "tpot                    absent" in text and "tpot                     0" not in
          text, text)
    s = several(record("a"), {**single, "request_id": "b"})
    equal("without_tpot_a_request_is_in_no_tpot_population",
          (percentile(s, "tpot", 50, "all")["n"], percentile(s, "e2e", 50, "all")["n"]), (1, 2))

    closing = with_sent(record(), [(560, 1), (580, 1), (600, 1), (4000, 0)])  # usage chunk and [DONE]
    equal("closing_chunks_do_not_extend_the_last_token", one(closing)["tpot_ns"], 20 * MS)

    packed = with_sent(record(), [(560, 1), (620, 3), (640, 1)])
    text = run("--all-events", files.write(packed))[1]
    check("tokens_per_chunk_are_kept", "tokens 3" in text and "n = 4 gaps" in text and "itl                  20.000 ms"
          in text, text)

    r = record()
    r["workload"].update(output_tokens=11, max_output_tokens=256)
    equal("divided_by_the_achieved_length", one(r)["tpot_ns"], 4500 * MS // 10)
    r["workload"]["output_tokens"] = None
    equal("without_an_achieved_length_there_is_no_tpot", one(r)["tpot_ns"], None)
    # 4 tokens in the answer, of which 2 came at once with the first event: mean ITL and TPOT part ways
    r = with_sent(record(), [(560, 2), (580, 1), (620, 1)])
    text = run(files.write(r))[1]
    check("mean_itl_is_not_tpot", "itl                  30.000 ms" in text and "20.000 ms" in text, text)


def formulas():
    text = run(files.write(with_sent(record(), [(560, 1), (580, 1)])))[1]
    for label, formula in (("client_ttft", "first_byte_received - request_submitted"),
                           ("server_ttft", "first_token - request_accepted"),
                           ("queue_delay", "request_admitted - request_accepted"),
                           ("e2e", "final_byte_received - request_submitted"),
                           ("tpot", "(last token_sent - first token_sent) / (output_tokens - 1)")):
        line = next(l for l in text.splitlines() if l.strip().startswith(label + " "))
        check(f"formula_beside_{label}", line.endswith(formula), line)
    text = run(files.write(record()))[1]
    check("formula_names_the_boundary", "(final_byte_received - first_byte_received) / (output_tokens - 1)" in text)
    check("itl_says_what_it_is", "mean gap between token_sent events" in
          run(files.write(with_sent(record(), [(560, 1), (580, 1)])))[1])


def first_id_and_first_text():
    # the first token is half a character: its id exists at 560 ms, the first text a person sees 30 ms later
    r = with_sent(record(ms=540), [(630, 2), (650, 1)])
    find(r, "first_token")["t_ns"] = 560 * MS
    got = one(r)
    equal("first_token_and_first_text_are_two_events", (got["server_ttft_ns"], got["client_ttft_ns"]),
          (490 * MS, 540 * MS))
    early = with_sent(record(), [(559, 1), (580, 1)])
    refused("text_before_its_token_is_refused", early, "events[4].t_ns", "is before first_token")


def clocks():
    r = record()
    for name in ("request_submitted", "first_byte_received", "final_byte_received"):
        find(r, name)["t_ns"] //= 1000  # microseconds where nanoseconds are meant
    text = run(files.write(r))[1]
    check("microseconds_are_implausible", "plausible   no: client_ttft (500000 ns) is shorter than server_ttft" in text,
          text)
    check("the_same_in_nanoseconds_is_plausible", "plausible   yes" in run(files.write(record()))[1])
    r = record()
    find(r, "first_token")["t_ns"] = 560.5
    refused("fractions_of_milliseconds_are_refused", r, "events[3].t_ns", "fraction")
    for api in ("Date.now", "CLOCK_REALTIME"):
        r = record()
        for e in r["events"]:
            e["clock_api"] = api
        refused(f"wall_clock_{api}", r, "events[0].clock_api", "wall clock")
    r = record()
    find(r, "first_token")["clock_api"] = "CLOCK_BOOTTIME"
    refused("two_clocks_under_one_name", r, "events[3].clock_api", "two clocks")
    r = record()
    find(r, "final_byte_received").update(event("final_byte_received", 5 * 10**9, clock="server"))
    refused("browser_and_server_are_not_subtracted", r, "events[5].clock", "cross clocks")
    r["clock_offsets"] = [{"a": "browser", "b": "server", "offset_ns": -68 * MS, "uncertainty_ns": 2 * MS}]
    got = one(r)
    equal("a_stated_offset_allows_it", got["e2e_ns"], (5000 - 68 - 1) * MS)
    check("the_uncertainty_of_an_offset_is_shown", "+-2.000 ms between clocks" in run(files.write(r))[1])


def negative_intervals():
    r = record()
    find(r, "final_byte_received")["t_ns"] = 400 * MS
    refused("negative_interval_is_an_error", r, "events[5].t_ns", "is before first_byte_received")
    r = record("r-neg")
    find(r, "first_byte_received").update(event("first_byte_received", 572 * MS, clock="server"))
    r["clock_offsets"] = [{"a": "browser", "b": "server", "offset_ns": -600 * MS, "uncertainty_ns": 0}]
    refused("a_negative_interval_is_refused_also_across_clocks_and_with_its_record", r, "client_ttft", "negative in record 'r-neg'")
    rc, out, err = run(files.write(record("a"), r, record("b")))
    check("never_clamped_to_zero", rc == 2 and ":2: client_ttft" in err and "client_ttft           0.000" not in out, err)


def failures_and_populations():
    served = [record(f"s{i}", ms=100 + i) for i in range(90)]
    queued = [record(f"q{i}", ms=5000 + i) for i in range(10)]
    refusals = [lost(f"q{i}") for i in range(10)]
    slow, refusing = several(*served, *queued), several(*served, *refusals)
    equal("n_counts_every_request", [percentile(x, "client_ttft", 99, "all")["n"] for x in (slow, refusing)],
          [100, 100])
    p = percentile(refusing, "client_ttft", 99, "all")
    equal("refusing_load_makes_p99_infinite", (p["value_ns"], p["infinite"], p["failed"]), (None, True, 10))
    equal("successes_alone_stand_beside_it", percentile(refusing, "client_ttft", 99, "completed")["value_ns"], 189 * MS)
    equal("p90_is_still_a_latency", percentile(refusing, "client_ttft", 90, "all")["value_ns"], 189 * MS)
    equal("by_reason", (refusing["completed"], refusing["by_reason"]["rejected"]), (90, 10))
    text = run("--tables", "0", files.write(*served, *refusals))[1]
    check("infinity_in_words", "+infinity" in text and "rejected 10" in text, text)

    r = record()
    r["outcome"]["error"] = "out of memory at token 7"
    got = one(r)
    equal("error_in_band_under_200", (got["completion"], got["completion_reason"], got["useful"]),
          ("incomplete", "in_band_error", False))
    r = record()
    r["outcome"]["finish_reason"] = None
    equal("end_of_stream_without_finish_reason", one(r)["completion_reason"], "no_finish_reason")
    r["outcome"]["finish_reason"] = "length"
    equal("length_is_truncated", one(r)["completion_reason"], "truncated")


def retries():
    a1, a2 = lost("r-1", 1, 500, "request_failed", "worker died"), record("r-1", 2)
    for order, name in (((a1, a2), "in_order"), ((a2, a1), "out_of_order")):
        s = several(*order, record("r-2"))
        equal(f"one_user_request_{name}", (s["records"], s["requests"], s["retried"], s["completed"],
                                               s["by_reason"]["internal_error"], s["useful"]), (3, 2, 1, 2, 0, 2))
    s = several(record("r-1", 1), lost("r-1", 2, 500, "request_failed", "worker died"))
    equal("the_last_attempt_decides", (s["requests"], s["completed"], s["by_reason"]["internal_error"]), (1, 0, 1))
    s = several(record("r-1"), record("r-1", ms=900), record("r-2"))
    equal("the_same_attempt_twice_counts_once", (s["records"], s["repeated"], s["requests"],
                                                     percentile(s, "client_ttft", 99, "all")["value_ns"]),
          (3, 1, 2, 500 * MS))
    many = [record(f"r-{i % 500}", 1 + i // 500, ms=100 + i // 500) for i in range(1500)]
    s = several(*many)
    equal("many_requests", (s["records"], s["requests"], s["retried"],
                                percentile(s, "client_ttft", 50, "all")["value_ns"]), (1500, 500, 500, 102 * MS))


def few_and_none():
    s = several(*[record(str(i), ms=100 + i) for i in range(8)])
    p = percentile(s, "client_ttft", 99, "all")
    equal("p99_of_8_is_marked", (p["value_ns"], p["n"], p["few"]), (107 * MS, 8, True))
    text = run("--tables", "0", files.write(*[record(str(i)) for i in range(8)]))[1]
    check("p99_of_8_is_marked_in_text", "p99*" in text and "fewer observations" in text, text)
    s = several(*[record(str(i)) for i in range(100)])
    equal("p99_of_100_is_not", percentile(s, "client_ttft", 99, "all")["few"], False)
    s = several(lost("a"), lost("b"))
    p = percentile(s, "e2e", 50, "completed")
    equal("no_observation_is_null_not_0", (p["value_ns"], p["infinite"], p["n"]), (None, False, 0))
    text = run("--tables", "0", files.write(lost("a"), lost("b")))[1]
    check("no_sentinel_is_printed", "absent" in text and "-1" not in text and " 0.000 ms" not in text, text)
    check("absent_intervals_of_one_record", all(x not in run(files.write(lost("a")))[1] for x in ("-1", " 0.000 ms  ")))


def nothing_is_rounded_away():
    with open(os.path.join(FIXTURES, "at_2_53.json")) as f:
        got = one(json.load(f))
    equal("timestamps keep every digit up to 2^53", got["e2e_ns"], 2**53 - 1000000)
    r = copy.deepcopy(record())
    for e in r["events"]:
        e["t_ns"] += 1234567890123456
    find(r, "final_byte_received")["t_ns"] += 1
    equal("a nanosecond is seen at 14 days", one(r)["e2e_ns"], 5000 * MS + 1)


first_token_and_denominators()
formulas()
first_id_and_first_text()
clocks()
negative_intervals()
failures_and_populations()
retries()
few_and_none()
nothing_is_rounded_away()
finish()
