#!/usr/bin/env python3
"""test_record_check.py: `servelab record check` on the committed fixtures (exit status, line and field of each, from
fixtures/cases.tsv), its flags and its output formats."""
import json
import os
import subprocess
import threading

from record_cli import (FIXTURES, SERVELAB, TOP, Files, check, equal, event, find, finish, lost, record, run,
                        with_sent)

KEYS = ["request_id", "client_ttft_ns", "server_ttft_ns", "queue_delay_ns", "e2e_ns", "tpot_ns", "tpot_boundary",
        "completion", "completion_reason", "quality", "structure", "useful"]
files = Files()


def fixtures():
    """Each fixture of the table, and no fixture outside it."""
    listed = set()
    with open(os.path.join(FIXTURES, "cases.tsv")) as f:
        for row in f:
            if row.startswith("#"):
                continue
            name, status, line, field, says = row.rstrip("\n").split("\t")
            listed.add(name)
            path = os.path.join(FIXTURES, name)
            rc, out, err = run("--json", path)
            if status == "0":
                check(f"fixture {name}", rc == 0 and json.loads(out) and not err, f"rc {rc}: {err}")
                continue
            got = json.loads(out)["error"]
            place = (rc, str(got.get("line", "")), got.get("field", ""))
            said = says in got["message"] and got["input"] == path and says in err and "\n" not in err[:-1]
            check(f"fixture {name}", place == (int(status), line, field) and said, f"{place}: {got['message']}")
    there = set(os.listdir(FIXTURES)) - {"cases.tsv", ".gitattributes"}
    equal("every fixture is in the table", there - listed, set())


def deep_and_long():
    def of(text):
        path = os.path.join(files.folder.name, "hostile.json")
        with open(path, "w") as f:
            f.write(text)
        rc, out, _ = run("--json", path)
        return rc, json.loads(out)["error"]["message"] if rc else ""

    equal("100,000 objects deep", of('{"a":' * 100000)[0], 2)
    r = json.dumps(record())
    rc, said = of(r.replace('"attempt"', '"x":' + "[" * 63 + "]" * 63 + ',"attempt"'))
    equal("64 deep is read", (rc, said), (0, ""))
    rc, said = of(r.replace('"attempt"', '"x":' + "[" * 64 + "]" * 64 + ',"attempt"'))
    check("65 deep is refused", rc == 2 and "deeper" in said, said)
    many = record()
    many["events"] += [event("gpu_start", i, range="r") for i in range(200001)]
    path = files.write(many)
    rc, out, _ = run("--json", path)
    check("more events than a record may hold", rc == 2 and "200000" in json.loads(out)["error"]["message"])


def one_record():
    rc, out, _ = run("--json", os.path.join(FIXTURES, "good.json"))
    got = json.loads(out)
    equal("keys of one record are those of the format, in order", list(got), KEYS)
    equal("values of one record", [got[k] for k in KEYS],
          ["r-0001", 502000000, 500000000, 4000000, 5002000000, 25000000, "browser_bytes", "completed", "delivered",
           "passed", "not_required", True])
    for name, reason in (("rejected", "rejected"), ("cancelled", "cancelled"), ("half_delivered", "not_delivered")):
        rc, out, _ = run("--json", os.path.join(FIXTURES, name + ".json"))
        got = json.loads(out)
        check(f"{name}: a valid record with absent intervals", rc == 0 and got["e2e_ns"] is None and
              got["tpot_ns"] is None and got["tpot_boundary"] is None and got["completion"] == "incomplete" and
              got["completion_reason"] == reason and got["useful"] is False, out)


def text_output():
    r = with_sent(record(), [(560 + 10 * i, 1) for i in range(50)])
    rc, out, _ = run(files.write(r))
    for part in ("client_ttft", "500.000 ms", "500000000 ns", "first_byte_received - request_submitted",
                 "token_sent - first token_sent) / (output_tokens - 1)", "completed (delivered)",
                 "outcome     delivered, HTTP 200, finish reason stop",
                 "passed by key-recall/1", "useful      yes", "What the person experienced: the answer began after "
                 "500.000 ms", "The record says: \"client_ttft is", "48 more", "performance.now"):
        check(f"text shows {part!r}", part in out, out)
    check("--all-events lists them", run("--all-events", files.write(r))[1].count("token_sent  ") == 50)
    evil = record()
    evil["statement"] = "a\x1b[2Jb\nuseful yes\u009b31m"
    evil["request_id"] = "r\x07\r\x7f"
    out = run(files.write(evil))[1]
    check("control characters of a record don't reach the terminal",
          not any(c in out for c in "\x1b\x07\r\x7f\u009b") and "b?useful yes?31m" in out, repr(out))


def several_records():
    rc, out, _ = run("--json", files.write(record("a"), record("b")), files.write(record("c")))
    got = json.loads(out)
    equal("several records: an array and a summary", (rc, list(got), len(got["records"])),
          (0, ["records", "summary"], 3))
    equal("each with the same keys", list(got["records"][2]), KEYS)
    late = [record("a"), record("b")]
    for r in late:  # sixteen digits: a double holds them, %.15g doesn't
        for e in r["events"]:
            if e["event"] in ("first_byte_received", "final_byte_received"):
                e["t_ns"] = 9007199254740989
            elif e["event"] == "request_submitted":
                e["t_ns"] = 0
    rc, out, err = run("--json", files.write(*late))
    check("the summary's percentiles have all digits", rc == 0 and '"value_ns":9007199254740989,' in out, out + err)
    path = files.write(*[record(str(i)) for i in range(30)])
    equal("20 tables by default", run(path)[1].count("What the person experienced"), 20)
    equal("--tables N", run("--tables", "3", path)[1].count("What the person experienced"), 3)
    equal("--tables 0", run("--tables", "0", path)[1].count("What the person experienced"), 0)
    rc, out, err = run("--json", path, os.path.join(FIXTURES, "nan.json"))
    got = json.loads(out)
    check("an error after records leaves one JSON document", rc == 2 and len(got["records"]) == 30 and
          got["error"]["line"] == 11 and "nan.json:11: events[3].t_ns" in err, err)
    rc, out, _ = run("--json", files.write(record("a")), os.path.join(FIXTURES, "nan.json"))
    check("also after a single one", rc == 2 and len(json.loads(out)["records"]) == 1)
    rc, out, _ = run("--no-summary", path)
    check("--no-summary", rc == 0 and "30 records are valid" in out and "nearest rank" not in out)
    rc, out, _ = run("--no-summary", "--json", path)
    equal("--no-summary --json", (rc, list(json.loads(out))), (0, ["records"]))


def standard_input():
    rc, out, _ = run("--json", "-", stdin=json.dumps(record()).encode())
    check("- is standard input", rc == 0 and json.loads(out)["request_id"] == "r-1")
    fifo = os.path.join(files.folder.name, "fifo")
    os.mkfifo(fifo)
    rc, _, err = run(fifo)
    check("a FIFO doesn't hang it", rc == 2 and "regular file" in err and "standard input" in err, err)
    rc, _, err = run("-", stdin=json.dumps(record()).encode() + b"\0")
    check("a NUL after the record is reported by its number", rc == 2 and "byte 0x00" in err, err)


def torn_lines():
    def torn(name):
        rc, out, err = run("--skip-torn", "--json", os.path.join(FIXTURES, name))
        got = json.loads(out)
        return rc, len(got["records"]), got["summary"]["torn_lines"], "skipped" in err

    equal("--skip-torn at the end", torn("log_torn_tail.jsonl"), (0, 4, 1, True))
    equal("--skip-torn inside", torn("log_torn_inside.jsonl"), (0, 2, 1, True))
    equal("--skip-torn at the beginning", torn("log_torn_first.jsonl"), (0, 2, 1, True))
    equal("--skip-torn doesn't excuse damage", run("--skip-torn", os.path.join(FIXTURES, "log_damaged.jsonl"))[0], 2)
    rc, out, _ = run("--skip-torn", "--json", os.path.join(FIXTURES, "truncated.json"))
    equal("nothing but a torn line", (rc, json.loads(out)["error"]["line"] if rc else None), (2, 13))


def advice():
    for name in ("log_torn_tail.jsonl", "log_torn_inside.jsonl", "log_torn_first.jsonl"):
        rc, _, err = run(os.path.join(FIXTURES, name))
        check(f"{name}: --skip-torn is named", rc == 2 and "--skip-torn" in err and "again" not in err, err)
        check(f"{name}: not when it is given", "again" not in run("--skip-torn", os.path.join(FIXTURES, name))[2])
    line = json.dumps(record())[:-40]
    for said, text in (("a line", line), ("a line with its end", line + "\n")):
        rc, _, err = run("-", stdin=text.encode())
        check(f"{said} alone: write it again", rc == 2 and "write it again" in err and "--skip" not in err, err)
    starter = record()
    starter["events"][2].update(t_ns=None, source="TODO")
    rc, out, err = run("--json", files.write(starter))
    check("a starter's record is not attempted", rc == 3 and "not filled in" in err and
          json.loads(out)["error"]["field"] == "events[2].source", err)
    starter["events"][2].update(source="server_log")
    equal("null where a time belongs is bad input", run(files.write(starter))[0], 2)


def burst():
    def noted(sent):
        rc, out, err = run(files.write(with_sent(record(), sent)))
        return rc, "left together" in out
    equal("pieces that left together are noted", noted([(600, 1), (601, 1), (602, 1)]), (0, True))
    equal("an even flow is not", noted([(561, 1), (581, 1), (601, 1)]), (0, False))
    equal("nor is a flow that began a little late", noted([(600, 1), (620, 1), (640, 1)]), (0, False))
    equal("one piece has no tpot to doubt", noted([(600, 3)]), (0, False))


def objective():
    def verdict(records, **more):
        o = {"schema": "servelab.objective.v1", "name": "o", "kind": "serving", **more}
        path = os.path.join(files.folder.name, "objective.json")
        with open(path, "w") as f:
            json.dump(o, f)
        return run("--objective", path, "--json", files.write(*records))

    p99 = [{"interval": "client_ttft", "percentile": 99, "below_ms": 800, "scope": "population"}]
    rc, out, _ = verdict([record("a"), record("b")], latency=p99)
    equal("objective met", (rc, json.loads(out)["summary"]["objective"]["verdict"]), (0, "met"))
    rc, out, _ = verdict([record("a"), record("b", ms=800)], latency=p99)
    equal("a limit that is reached is missed, exit 1", (rc, json.loads(out)["summary"]["objective"]["verdict"]),
          (1, "missed"))
    one = [{"interval": "e2e", "below_ms": 5000, "scope": "request"}]
    rc, out, _ = verdict([record()], latency=one)
    equal("good is by the limits for one request, and no verdict over all", (rc, json.loads(out)["good"]), (0, False))
    equal("one record has `good` as its last key", list(json.loads(out)), KEYS + ["good"])
    rc, out, _ = verdict([record("a"), record("b")], throughput={"min_rps": 1})
    equal("what a log can't answer is not computable, exit 0",
          (rc, json.loads(out)["summary"]["objective"]["verdict"]), (0, "not_computable"))
    rc, out, _ = verdict([record("a"), lost("b")], reliability={"max_failure_rate": 0.1, "failures": ["rejected"]})
    equal("failure rate", (rc, json.loads(out)["summary"]["objective"]["failure_rate"]), (1, "missed"))
    rc, _, err = run("--objective", os.path.join(FIXTURES, "nan.json"), files.write(record()))
    check("a bad objective file is named", rc == 2 and "nan.json:11" in err, err)


def usage():
    def says(args, word):
        p = subprocess.run([SERVELAB, "record", *args], capture_output=True, timeout=60)
        check(f"record {' '.join(args)}", p.returncode == 2 and word in p.stderr.decode(), p.stderr.decode())

    says([], "check")
    says(["chekc"], "chekc")
    says(["check"], "FILE")
    says(["check", "--jsno", "x"], "--jsno")
    says(["check", "--objective"], "--objective")
    says(["check", "--tables", "many", "x"], "--tables")
    says(["check", "--no-summary", "--objective", "x", "y"], "--no-summary")
    rc, out, _ = run("--help")
    example = next(x for x in out.splitlines() if x.startswith("example: build/bin/servelab ")).split()[2:]
    p = subprocess.run([SERVELAB, *example], cwd=TOP, capture_output=True, timeout=60)
    equal("the example of --help runs", (rc, p.returncode), (0, 0))
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            p = subprocess.run([SERVELAB, "record", "check", files.write(record())], stdout=full,
                               stderr=subprocess.PIPE, timeout=60)
        equal("output that can't be written is a fault, not a yes", p.returncode, 4)


def unknown_members():
    r = record()
    r["trace"] = {"id": 1}
    find(r, "first_token")["lane"] = 3
    equal("unknown members are accepted", run(files.write(r))[0], 0)


def memory():
    """A log of n records against one of 10 n: without a summary memory must stay as it is."""
    def peak_kib(n, *flags):
        line = json.dumps(record("x")).encode() + b"\n"
        p = subprocess.Popen([SERVELAB, "record", "check", "--tables", "0", *flags, "-"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL)

        def feed():
            for i in range(n):
                p.stdin.write(line.replace(b'"x"', b'"r-%07d"' % i))
            p.stdin.close()

        feeder = threading.Thread(target=feed)
        feeder.start()
        _, status, use = os.wait4(p.pid, 0)
        p.returncode = status
        feeder.join()
        return status, use.ru_maxrss

    (s1, few), (s2, many) = peak_kib(3000, "--no-summary"), peak_kib(30000, "--no-summary")
    check("constant memory without a summary", s1 == s2 == 0 and many < few + 1024, f"{few} and {many} KiB")
    s3, summed = peak_kib(30000)
    check("a summary takes less than 200 bytes a request", s3 == 0 and (summed - few) * 1024 < 200 * 30000 + 2000000,
          f"{few} and {summed} KiB")


fixtures()
deep_and_long()
one_record()
text_output()
several_records()
standard_input()
torn_lines()
advice()
burst()
objective()
usage()
unknown_members()
if "asan" not in os.environ.get("MODE", "") and "tsan" not in os.environ.get("MODE", ""):
    memory()
finish()
