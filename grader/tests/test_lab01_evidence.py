#!/usr/bin/env python3
"""test_lab01_evidence.py: lab 01's record.json and objective.json with one thing wrong lose a check, and the message says what; honest
ways to write the same keep it. Also: a reason that names a part of what is missing. TAP."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
REFERENCE = os.path.join(TOP, "solutions", "01_request_record")


def read(file):
    with open(os.path.join(REFERENCE, file), encoding="utf-8") as f:
        return f.read()


def event(record, name):
    return next(e for e in record["events"] if e["event"] == name)


def server(change):
    """Changes each time of the server's clock."""
    def edit(record):
        for e in record["events"]:
            if e["clock"] == "server":
                e["t_ns"] = change(e["t_ns"])
    return edit


def captured_in_whole_ms(record):
    record["provenance"] = "captured"
    server(lambda t: t // 1000000 * 1000000)(record)


def swapped_calls(record):
    for e in record["events"]:
        e["clock_api"] = "CLOCK_MONOTONIC" if e["clock"] == "browser" else "performance.now"


def by_the_client(record):
    for e in record["events"]:
        e["clock_api"] = "CLOCK_MONOTONIC"
        if e["clock"] == "browser":
            e["source"] = "client"


def admitted_late(record):
    event(record, "request_admitted")["t_ns"] = event(record, "first_token")["t_ns"]


def cached(record):
    admitted_late(record)
    event(record, "request_admitted")["t_ns"] -= 100000
    record["workload"]["cached_prompt_tokens"] = 2032


def one_token_cached(record):
    event(record, "request_admitted")["t_ns"] = event(record, "first_token")["t_ns"] - 1000
    record["workload"]["cached_prompt_tokens"] = 1


def outcome(**members):
    return lambda record: record["outcome"].update(members)


def reasons(ttft, tpot):
    def edit(answer):
        for verdict, reason in zip(answer["verdict"]["latency"], (ttft, tpot)):
            verdict["reason"] = reason
    return edit


def overall(reason):
    return lambda answer: answer["verdict"]["overall"].update(reason=reason)


def clock_api(name):
    def edit(record):
        for e in record["events"]:
            e["clock_api"] = name
    return edit


def server_api(name):
    def edit(record):
        for e in record["events"]:
            if e["clock"] == "server":
                e["clock_api"] = name
    return edit


def client_s(client, server, e2e):
    """Changes client_ttft, server_ttft (with the whole prefill) and e2e, in seconds."""
    def edit(record):
        for name, after, s in (("request_admitted", "request_accepted", server / 1000), ("first_token", "request_accepted", server),
                               ("first_byte_received", "request_submitted", client), ("final_byte_received", "request_submitted", e2e)):
            event(record, name)["t_ns"] = event(record, after)["t_ns"] + round(s * 1e9)
    return edit


def slow_in_microseconds(record):
    """A slow machine's: 0.2 s a token. Its times pass as those of a very fast one."""
    record["workload"]["output_tokens"] = 11
    client_s(2.7175, 2.71317, 4.7175)(record)
    for e in record["events"]:
        e["t_ns"] //= 1000


def embedded(edit):
    """A record of the embedded model, with this edit."""
    def both(record):
        record["workload"]["model"] = "servelab-tiny"
        edit(record)
    return both


def in_unit_of(ns):
    def edit(record):
        for e in record["events"]:
            e["t_ns"] //= ns
    return edit


def cached_start(record):
    """0.2 ms to the first token, 1 s in all, 2,032 of the prompt's tokens cached."""
    client_s(0.00025, 0.0002, 1)(record)
    record["workload"]["cached_prompt_tokens"] = 2032


def fast_tiny(record):
    """20 us to the first token, 14 us a token."""
    client_s(0.00008, 0.00002, 0.0026)(record)


def tokens(came, most):
    return lambda record: record["workload"].update(output_tokens=came, max_output_tokens=most)


def resources(**members):
    return lambda record: record["resources"].update(members)


def with_tokens_sent(edit):
    """A record that has more than its six events: the server's tpot is 40 ms, the client's 31 ms."""
    def both(record):
        start = event(record, "first_token")["t_ns"]
        for name, after_ns, count in (("token_sent", 0, 1), ("token_sent", 7200000000, 180), ("response_finished", 7300000000, None)):
            record["events"].append(dict(event(record, "first_token"), event=name, t_ns=start + after_ns))
            if count is not None:
                record["events"][-1]["tokens"] = count
        event(record, "final_byte_received")["t_ns"] += 3000000000
        edit(record)
    return both


def statement(text):
    return lambda record: record.update(statement=text)


def one_more_verdict(answer):
    answer["verdict"]["latency"].append({"interval": "tpot", "answer": "met", "reason": "170 ms is below 80 ms"})


# file, check, edit, words of the message; no words: it keeps the check
CASES = [
    ("record", "record_plausible", server(lambda t: t // 1000), "are the server's in microseconds?"),
    ("record", "record_plausible", admitted_late, "in between lies the prefill"),
    ("record", "record_plausible", cached, None),
    ("record", "record_plausible", one_token_cached, "in between lies the prefill"),
    ("record", "record_annotated", swapped_calls, "can't read the clock with CLOCK_MONOTONIC"),
    ("record", "record_annotated", by_the_client, None),
    ("record", "record_annotated", captured_in_whole_ms, "Write \"authored\""),
    ("record", "record_annotated", lambda r: r.update(provenance="captured"), None),
    ("record", "record_valid", outcome(http_status=None), "outcome.http_status is null"),
    ("record", "record_valid", outcome(http_status=503), "outcome.http_status is 503"),
    ("record", "record_valid", outcome(error="out of blocks"), "out of blocks"),
    ("record", "record_valid", outcome(finish_reason=None), "outcome.finish_reason is null"),
    ("record", "record_valid", outcome(finish_reason="length"), None),
    ("record", "record_valid", outcome(finish_reason="abort"), "ends with \"stop\""),
    ("record", "record_tokens", lambda r: r["workload"].update(model=None), "workload.model is missing"),
    ("record", "record_tokens", lambda r: r["workload"].update(output_tokens=None), "workload.output_tokens is null"),
    ("record", "record_statement", lambda r: r.update(statement="client_ttft server_ttft queue_delay e2e tpot"), "a sentence"),
    ("record", "record_tokens", lambda r: r["workload"].update(max_output_tokens=None), "max_output_tokens is null"),
    ("record", "record_tokens", lambda r: r["workload"].update(cached_prompt_tokens=2048), "at least the last token"),
    ("record", "record_tokens", lambda r: r["workload"].update(cached_prompt_tokens=2047), None),
    ("record", "record_annotated", clock_api("banana"), "no call that reads a monotonic clock"),
    ("record", "record_annotated", clock_api("time()"), "no call that reads a monotonic clock"),
    ("record", "record_statement", lambda r: r.update(statement="aaaa aaaa aaaa aaaa aaaa client_ttft"), "a sentence"),
    ("record", "record_statement", lambda r: r.update(statement="\u5ba2\u6237\u7b49\u4e86 client_ttft \u8fd9\u4e48\u4e45"), None),
    ("record", "record_statement", lambda r: r.update(statement="It was client_ttft that passed."), None),
    ("record", "record_tokens", tokens(5000, 5000), "at most 1,024 tokens"),
    ("record", "record_tokens", tokens(181, 1000000), "at most 1,024 tokens"),
    ("record", "record_tokens", tokens(1024, 1024), None),
    ("record", "record_valid", outcome(finish_reason="banana"), "ends with \"stop\""),
    ("record", "record_valid", outcome(finish_reason="preempted"), "ends with \"stop\""),
    ("record", "record_valid", outcome(finish_reason="tool_calls"), None),
    ("record", "record_plausible", client_s(2.7175, 0.027, 8.3), "doesn't take so much longer"),
    ("record", "record_plausible", client_s(2.1, 0.2, 8.3), None),
    ("record", "record_plausible", client_s(0.6, 0.01, 8.3), None),
    ("record", "record_plausible", client_s(3, 3, 8.3), None),
    ("record", "record_plausible", client_s(0.0031, 0.003, 0.3), None),
    ("record", "record_plausible", slow_in_microseconds, "are these microseconds?"),
    ("record", "record_plausible", resources(gpu_seconds=5000), "gpu_seconds is 5000"),
    ("record", "record_plausible", resources(gpu_seconds=8.2, joules=4000), None),
    ("record", "record_plausible", resources(joules=4e6), "joules is 4e+06"),
    ("record", "record_statement", statement("The person looked at an empty page for the client_ttft of 14 s before it began."), "a time that is none"),
    ("record", "record_statement", statement("The e2e took 2717.5 us and no more for this person."), "a time that is none"),
    ("record", "record_statement", statement("After 27 ms of client_ttft the person had the first word."), "a time that is none"),
    ("record", "record_statement", statement("Die Person wartete 2,7175 s auf das erste Wort (client_ttft)."), None),
    ("record", "record_statement", statement("The person waited about 3 seconds, which is client_ttft."), None),
    ("record", "record_statement", statement("The person waited client_ttft, 2,717 ms, with a limit of 800 ms."), None),
    ("record", "record_statement", statement("For over 2 s nothing came, then words: client_ttft was felt."), None),
    ("record", "record_statement", statement("The answer was whole after 8.3s, so e2e is what they waited."), None),
    ("record", "record_statement", statement("The person waited 2_717 ms: client_ttft, all of it"), None),
    ("record", "record_statement", statement("The person experienced the client_ttft (2 717 ms) as silence."), None),
    ("record", "record_statement", statement("client_ttft (2,717,500,000 ns) is what they waited for."), None),
    ("record", "record_statement", statement("client_ttft (1,717,500,000 ns) is what they waited for."), "a time that is none"),
    ("record", "record_annotated", server_api("GetTickCount64"), None),
    ("record", "record_annotated", server_api("CNTVCT_EL0"), None),
    ("record", "record_annotated", server_api("asyncio loop.time"), None),
    ("record", "record_annotated", server_api("esp_timer_get_time"), None),
    ("record", "record_annotated", server_api("unix timestamp"), "no call that reads a monotonic clock"),
    ("record", "record_plausible", cached_start, None),
    ("record", "record_plausible", client_s(0.00025, 0.0002, 1), "5.5e11 operations"),
    ("record", "record_plausible", embedded(lambda r: None), None),
    ("record", "record_plausible", embedded(fast_tiny), None),
    ("record", "record_plausible", fast_tiny, "5.5e11 operations"),
    ("record", "record_plausible", embedded(client_s(0.003, 0.002, 0.006)), None),
    ("record", "record_plausible", client_s(0.003, 0.002, 0.006), "30 layers"),
    ("record", "record_plausible", embedded(client_s(0.003, 0.002, 0.0033)), "4 layers"),
    ("record", "record_plausible", embedded(in_unit_of(1000000)), "are these milliseconds or microseconds?"),
    ("record", "record_plausible", embedded(client_s(0.3, 0.29, 1)), None),
    ("record", "record_plausible", embedded(lambda r: (client_s(0.3, 0.29, 1)(r), in_unit_of(1000)(r))), "microseconds"),
    ("record", "record_plausible", embedded(lambda r: (client_s(0.3, 0.29, 1)(r), in_unit_of(1000000)(r))), "milliseconds"),
    ("record", "record_statement", statement("After client_ttft the words came at a steady 31 ms each."), None),
    ("record", "record_statement", statement("The e2e of this answer was 45.8 ms for each of its tokens."), None),
    ("record", "record_statement", statement("The client_ttft is 15 ms for each token that then came."), None),
    ("record", "record_statement", statement("Of client_ttft no more than 4.33 ms were on the way."), None),
    ("record", "record_statement", statement("In e2e all but 5584 ms were the server's first token."), None),
    ("record", "record_statement", statement("The e2e ended at 13.4179 s on the clock of the page."), None),
    ("record", "record_statement", statement("The e2e ended at 14 s on the clock of the page."), "a time that is none"),
    ("record", "record_statement", statement("The e2e of this answer was 60 ms for each of its tokens."), "a time that is none"),
    ("record", "record_statement", statement("The person read 7 sections after the client_ttft was over."), None),
    ("record", "record_statement", statement("The e2e had 2 segments, 3 millions of thoughts, 5 secrets."), None),
    ("record", "record_statement", statement("For 2 long secs. of client_ttft, so over 2 secs., nothing came."), None),
    ("record", "record_statement", statement("After 270 millisecondes of client_ttft the words came."), "a time that is none"),
    ("record", "record_statement", statement("Despu\u00e9s de 270 milisegundos de client_ttft hubo algo."), "a time that is none"),
    ("record", "record_statement", statement("After 2717500 \u03bcs of client_ttft the words came."), None),
    ("record", "record_statement", statement("The person waited client_ttft, and .3 s is not enough."), "a time that is none"),
    ("record", "record_statement", with_tokens_sent(statement("After client_ttft the words came with a tpot of 40.0 ms.")), None),
    ("record", "record_statement", with_tokens_sent(statement("After client_ttft the words came with a tpot of 41.0 s.")), "a time that is none"),
    ("record", "record_statement", statement("After 2 s 717 ms of client_ttft the first words came."), None),
    ("record", "record_statement", statement("After 2 seconds and 717 milliseconds of client_ttft it began."), None),
    ("record", "record_statement", statement("After 2 s 300 ms of client_ttft the first words came."), "a time that is none"),
    ("record", "record_statement", statement("After \uff12\uff17\uff11\uff17 \uff4d\uff53 of client_ttft the words came."), None),
    ("record", "record_statement", statement("After \uff11\uff14\uff10\uff10 \uff4d\uff53 of client_ttft the words came."), "a time that is none"),
    ("record", "record_statement", statement("The person waited less than 15 s, and that is client_ttft."), None),
    ("record", "record_statement", statement("The person waited client_ttft, which was within the 3,500 ms."), None),
    ("record", "record_statement", statement("The client_ttft was far below the 800 ms of the memo."), "a time that is none"),
    ("record", "record_statement", statement("The client_ttft was more than 14 s for this person."), "a time that is none"),
    ("record", "record_statement", statement("This person understood after 14 s of client_ttft."), "a time that is none"),
    ("record", "record_statement", statement("The person waited 1 s, and that is the client_ttft."), "a time that is none"),
    ("record", "record_statement", statement("The client_ttft was 2717.5 MS, and felt longer."), None),
    ("record", "record_plausible", client_s(3.5, 0.2, 3.51), None),
    ("record", "record_plausible", client_s(3.5, 0.2, 3.5), "one token after the first is 0 ns"),
    ("record", "record_plausible", client_s(3.5, 0.2, 5), "doesn't take so much longer"),
    ("record", "record_statement", statement("With 2,048 tokens and 181 of output the person felt e2e."), None),
    ("objective", "objective_valid", lambda a: a.update(mesured=1), "mesured"),
    ("objective", "objective_valid", lambda a: a["measured"].update(tokens=1), "measured.tokens"),
    ("objective", "objective_valid", lambda a: a["measured"]["latency"][0].update(s=1), "latency[].s"),
    ("objective", "objective_valid", lambda a: a["verdict"].update(latencies=[]), "verdict.latencies"),
    ("objective", "objective_valid", lambda a: a["verdict"]["latency"][1].update(why="x"), "latency[].why"),
    ("objective", "objective_valid", lambda a: a["verdict"]["overall"].update(missing=[]), "verdict.overall.missing"),
    ("objective", "objective_valid", lambda a: a["verdict"]["objective_value"].update(value=1), "objective_value.value"),
    ("objective", "objective_verdict", reasons("1400 800", "170 80"), "with their units"),
    ("objective", "objective_verdict", reasons("1.4 s, limit 0.8 s", "170 ms is over 80 ms"), None),
    ("objective", "objective_verdict", reasons("measured p99 1400 ms; limit p99 800 ms", "p99 170 ms against 80 ms"), None),
    ("objective", "objective_verdict", reasons("p99.0 1 400 ms, the limit at p99 800 ms", "tpot p99 170 ms/token, needs < 80 ms/token"), None),
    ("objective", "objective_verdict", reasons("1400 ms, limit 800 ms", "p170 ms, limit 80 s"), "with their units"),
    ("objective", "objective_verdict", reasons("1,400 milliseconds, not below 800", "measured 0.17 seconds, limit 0.08"), None),
    ("objective", "objective_verdict", reasons("1400 s, limit 800 s", "170 ms, limit 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1.4 ms, limit 0.8 ms", "170 ms, limit 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1400 us, limit 800 us", "170 ms, limit 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1400\u00a0ms, limit 800\u202fms", "170 ms/token, the 80-ms limit"), None),
    ("objective", "objective_verdict", reasons("p99 1,4 s statt unter 0,8 s", "0,17 Sekunden statt unter 0,08 s"), None),
    ("objective", "objective_verdict", reasons("1400 \u043c\u0441 \u043f\u0440\u043e\u0442\u0438\u0432 800 \u043c\u0441", "170 \u6beb\u79d2\uff0c80 \u6beb\u79d2"), None),
    ("objective", "objective_verdict", reasons("1 400 ms, limit 800 ms", "170 Millisekunden, 80 erlaubt"), None),
    ("objective", "objective_verdict", reasons("1'400 ms, 800 ms", "170 ms, 80 ms"), None),
    ("objective", "objective_verdict", reasons("1.400 ms statt 800 ms", "170 ms statt 80 ms"), None),
    ("objective", "objective_verdict", reasons("14 00 ms, limit 800 ms", "170 ms, 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1400 \u2265 800", "170 ms, 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1.4 seconds, limit .8 seconds", ".17 s, not below .08 s"), None),
    ("objective", "objective_verdict", reasons("1400 ms. Limit .8 s", "170 ms.80 is the limit"), None),
    ("objective", "objective_verdict", reasons("missed.1400 ms, limit 800", "\"missed\".170 milisegundos, 80 millisecods"), None),
    ("objective", "objective_verdict", reasons("1400 > 800 (ms)", "170 > 80 (ms)"), None),
    ("objective", "objective_verdict", reasons("1400 [ms], limit 800 [ms]", "170 [ms] > 0.08 [s]"), None),
    ("objective", "objective_verdict", reasons("in ms: 1400 against 800", "170 and 80, both in milliseconds"), None),
    ("objective", "objective_verdict", reasons("1400 against 800, both in ms", "0.17 against .08; in seconds"), None),
    ("objective", "objective_verdict", reasons("1400 > 800 (\u043c\u0441)", "170 > 80 [\u6beb\u79d2]"), None),
    ("objective", "objective_verdict", reasons("1400 against 800, both in s", "170 ms, 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1.4 > 0.8 (ms)", "170 ms, 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1400 > 800 (us)", "170 ms, 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("it's 1400 > 800 in all systems", "170 ms, 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1400 > 800, 7 sections", "170 ms, 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1400 MS, limit 800 Ms", "0.17 S, limit .08 Sec"), None),
    ("objective", "objective_verdict", reasons("1 s 400 ms, limit 800 ms", "170 ms, 80 ms"), None),
    ("objective", "objective_verdict", reasons("1 second and 400 milliseconds; 800 milliseconds", "170 ms, 80 ms"), None),
    ("objective", "objective_verdict", reasons("1 s 300 ms, limit 800 ms", "170 ms, 80 ms"), "with their units"),
    ("objective", "objective_verdict", reasons("1 h 400 ms, limit 800 ms", "170 ms, 80 ms"), "with their units"),
    ("objective", "objective_verdict",
     reasons("\uff11\uff14\uff10\uff10 ms > \uff18\uff10\uff10 ms", "\u0661\u0667\u0660 ms > \u0668\u0660 ms"), None),
    ("objective", "objective_verdict", reasons("1,4 saniye, s\u0131n\u0131r 0,8 saniye", "0,17 vte\u0159iny, 0,08 vte\u0159iny"), None),
    ("objective", "objective_verdict", reasons("1400 Us, limit 800 US", "170 Ns, 80 NS"), "with their units"),
    ("objective", "objective_verdict", reasons("1400 ms, " + " ".join(f".{i}" for i in range(1, 13)) + " .8 s", "170 ms, 80 ms"),
     "more than 12 numbers"),
    ("objective", "objective_verdict", overall("xxxxxxxxxxxxxxxx"), "no sentence"),
    ("objective", "objective_verdict", overall("zzzz zzzz zzzz zzzz"), "no sentence"),
    ("objective", "objective_verdict", one_more_verdict, "one entry for each"),
    ("objective", "objective_limits", lambda a: a["measured"]["latency"].append({"interval": "tpot", "percentile": 99, "ms": 1}),
     "measured two"),
    ("objective", "purchase", lambda a: a["purchase"].update(reason="x" * 40), "no sentence"),
]


def grade(check, file, text):
    folder = tempfile.mkdtemp(prefix="servelab-evidence-")
    try:
        for f in os.listdir(REFERENCE):
            if f.endswith((".c", ".json")):
                shutil.copy(os.path.join(REFERENCE, f), folder)
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            f.write(text)
        p = subprocess.run([SERVELAB, "grade", "01", "--json", "--check", check, "--", folder], capture_output=True, check=False)
        checks = json.loads(p.stdout)["checks"]
        return checks[0]["outcome"], checks[0].get("message", "") + str(checks[0].get("got"))
    finally:
        shutil.rmtree(folder)


def main():
    bad = 0
    for i, (name, check, edit, words) in enumerate(CASES, 1):
        doc = json.loads(read(name + ".json"))
        edit(doc)
        got, said = grade("evidence." + check, name + ".json", json.dumps(doc))
        ok = got == "lost" and words in said if words else got == "earned"
        bad += not ok
        print(f"{'ok' if ok else 'not ok'} {i} - {check}: {words or 'honest, and keeps it'}" + ("" if ok else f"\n# {got}: {said}"), flush=True)
    partly = read("slo.c").replace("if (c->useful < 0) missing", "if (c->useful < 0 && !(usd && !(price > 0))) missing")
    got, said = grade("slo.value_not_computable", "slo.c", partly)
    ok = partly != read("slo.c") and got == "lost"
    bad += not ok
    print(f"{'ok' if ok else 'not ok'} {len(CASES) + 1} - a reason that names a part of what is missing\n# {got}: {said}\n1..{len(CASES) + 1}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
