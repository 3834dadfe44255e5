#!/usr/bin/env python3
"""test_report.py: `servelab report` on runs that are made here: its figures against those computed in Python, its JSON
against the schema, the worked example, runs that must be refused, and a run that was really served."""
# servelab-test: waits
import html.parser
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../serve/tests"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import PATIENCE_S, SERVELAB, TOP, RealServer, equal, run_tests  # noqa: E402
from runs import MS, S, expected, objective, record, run_file, write_log, write_run  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

E2E_P99 = {"interval": "e2e", "percentile": 99, "below_ms": 20000, "scope": "population"}


def path(*parts):
    return os.path.join(work, *parts)


def report(runs, what, *flags):
    with open(path("objective.json"), "w") as f:
        json.dump(what, f)
    return subprocess.run([SERVELAB, "report", *runs, "--objective", path("objective.json"), *flags],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)


def tree(runs, what, *flags, status=None):
    done = report(runs, what, "--json", *flags)
    assert done.returncode in (0, 1) and not done.stderr, (done.returncode, done.stderr)
    if status is not None:
        equal(done.returncode, status)
    made = json.loads(done.stdout)
    if jsonschema:
        with open(os.path.join(TOP, "common/report/report.schema.json")) as f:
            jsonschema.validate(made, json.load(f))
    return made


def page_of(runs, what):
    report(runs, what, "--out", path("page"))
    with open(path("page", "report.html")) as f:
        return f.read()


def refused(runs, what, *parts):
    done = report(runs, what)
    equal((done.returncode, done.stdout), (2, ""), done.stderr)
    json_too = report(runs, what, "--json")
    equal((json_too.returncode, list(json.loads(json_too.stdout))), (2, ["error"]), "--json: no number, only the error")
    for part in parts:
        assert part in done.stderr, (part, done.stderr)


def steady(n=40, first=0, gap=100 * MS, **more):
    """n requests, one after the other, all good."""
    return [record(f"r-{first + i}", S + (first + i) * gap, 20 * MS, 80 * MS, **more) for i in range(n)]


def steady_run(name, n=40, gap=100 * MS, paced=None, **more):
    return write_run(path(name), steady(n, gap=gap, paced=paced),
                     run_file(S, S + (n - 1) * gap, (S, S + (n - 1) * gap), n, paced=paced, **more))


# ---- figures ---------------------------------------------------------------------------------------------------------


def figures_equal_those_computed_from_the_definitions():
    for seed in range(8):
        rng = random.Random(seed)
        tries, records, sent = {}, [], S
        for i in range(300):
            sent += int(rng.expovariate(20) * S)
            attempts = []
            for k in range(rng.choice([1, 1, 1, 1, 2, 3])):
                at = sent + k * 200 * MS
                lag, ttft = rng.randrange(0, 3 * MS), rng.randrange(5 * MS, 400 * MS)
                e2e = ttft + rng.randrange(0, 2 * S)
                outcome = rng.choice(["delivered"] * 12 + ["rejected", "internal_error", "truncated"])
                verdict = rng.choice(["passed"] * 5 + ["failed"])
                attempts.append((at, lag, ttft, e2e, outcome, verdict))
                records.append(record(f"r-{i}", at, ttft, e2e, attempt=k + 1, lag=lag, outcome=outcome, verdict=verdict))
            tries[f"r-{i}"] = attempts
        window = (3 * S, sent - 2 * S)
        rng.shuffle(records)
        folder = write_run(path(f"random-{seed}"), records, run_file(S, sent + S, window, 300))
        point = tree([folder], objective(latency=[E2E_P99]))["points"][0]
        want = expected(tries, window)
        for key in ("requests", "attempts", "completed", "useful"):
            equal(point["counts"][key], want[key], key)
        for interval, of in (("client_ttft", "ttft"), ("e2e", "e2e")):
            for p in (50, 90, 99):
                got = point["latency"][interval][f"p{p}"]
                equal(math.inf if got["infinite"] else got["ns"], want[of][p], f"seed {seed}, {interval} p{p}")
        for p in (50, 90, 99):
            got = point["latency"]["e2e"][f"p{p}"]
            equal(got["of_completed_ns"], want["e2e_ok"][p])
            equal((got["ci95"]["lo_ns"], got["ci95"]["hi_ns"]), want["e2e_ci"][p], f"seed {seed}, interval of p{p}")
        seconds = (window[1] - window[0]) / 1e9
        assert abs(point["rates"]["useful_rps"] - want["useful"] / seconds) < 1e-9


def the_worked_example():
    """420 tokens/s look fast; p99 TTFT 1.4 s and p99 TPOT 170 ms miss limits of 800 and 80 ms, and 35 % are reserve."""
    tokens, n = 64, 200
    gap = int(tokens / 420 * S)
    records = []
    for i in range(n):
        slow = i % 20 == 0
        ttft, tpot = (1400, 170) if slow else (300, 40)
        records.append(record(f"r-{i}", S + i * gap, ttft * MS, ttft * MS + tpot * MS * (tokens - 1), output_tokens=tokens))
    last = S + (n - 1) * gap
    window = (13 * S, last)  # after the first slow answer
    folder = write_run(path("worked"), records, run_file(S, last, window, n))
    limits = [{"interval": "client_ttft", "percentile": 99, "below_ms": 800, "scope": "population"},
              {"interval": "tpot", "percentile": 99, "below_ms": 80, "scope": "population"}]
    what = objective(latency=limits, resource={"primary": "usd", "accelerators": 1, "reserve_fraction": 0.35})
    made = tree([folder], what, status=1)
    point = made["points"][0]
    assert abs(point["rates"]["output_tokens_per_s"] - 420) < 3, point["rates"]
    equal(point["latency"]["client_ttft"]["p99"]["ns"], 1400 * MS)
    equal(point["latency"]["tpot"]["p99"]["ns"], 170 * MS)
    equal((point["verdict"], made["curve"]["chosen"]), ("missed", None))
    equal([p["answer"] for p in point["parts"]], ["met", "missed", "missed"])
    equal(round(point["resource"]["accelerators_provisioned"], 4), round(1 / 0.65, 4))
    equal(point["resource"]["useful_per_unit"], None)
    assert "price" in point["resource"]["not_computable"], point["resource"]
    priced = {**what, "resource": {**what["resource"], "usd_per_accelerator_hour": 2.5}}
    value = tree([folder], priced)["points"][0]["resource"]["useful_per_unit"]
    seconds = (last - 13 * S) / 1e9
    assert abs(value - point["counts"]["requests"] / (1 / 0.65 * seconds / 3600 * 2.5)) < 1e-6, value


def a_retry_is_one_request_and_every_try_is_resource():
    tries = [record("r-0", S, 0, 10 * MS, outcome="internal_error", joules=3),
             record("r-0", 2 * S, 20 * MS, 80 * MS, attempt=2, joules=4), record("r-1", 5 * S, 20 * MS, 80 * MS, joules=5)]
    point = tree([write_log(path("retry.jsonl"), tries)], objective())["points"][0]
    equal([point["counts"][k] for k in ("requests", "attempts", "retried", "completed")], [2, 3, 1, 2])
    equal(point["latency"]["e2e"]["p99"]["ns"], S + 80 * MS)
    equal(point["resource"]["joules"], 12)


def a_run_whose_client_lagged_is_shown_and_never_chosen():
    slow = steady_run("slow", gap=200 * MS)
    fast = steady_run("fast", gap=100 * MS, valid=False, reasons=["the client lagged: <b>"])
    made = tree([slow, fast], objective(latency=[E2E_P99]), status=0)
    equal((made["curve"]["chosen"], made["curve"]["saturation"], made["goodput"]["good_requests_per_second"]["point"]), (0, 0, 0))
    equal((made["points"][1]["run_valid"], made["points"][1]["run_invalid_reasons"]), (False, ["the client lagged: <b>"]))
    assert "run is invalid" in report([slow, fast], objective()).stdout


def answers_without_a_check_follow_the_runs_fixed_length():
    cut = steady(outcome="truncated", check=None, verdict="not_evaluated")
    for ignore_eos, completed in ((True, 40), (False, 0)):
        folder = write_run(path("cut"), cut, run_file(S, 5 * S, (S, 5 * S), 40, ignore_eos=ignore_eos))
        made = tree([folder], objective())
        equal(made["points"][0]["counts"]["completed"], completed)
        equal(sum("40 answers ended by the length" in line for line in made["cannot_say"]), completed == 0)


def a_log_alone_goes_a_mean_gap_beyond_its_last_arrival():
    made = tree([write_log(path("log.jsonl"), steady())], objective())
    point = made["points"][0]
    # 40 arrivals, one each 0.1 s: with 39 gaps alone it would be 10.26 a second
    equal((point["window"]["seconds"], point["counts"]["requests"], point["rates"]["offered_rps"]), (4, 40, 10))
    assert any("no run file" in line for line in made["cannot_say"])


def an_objective_without_a_limit_is_not_met_in_silence():
    bare = {"schema": "servelab.objective.v1", "name": "bare", "kind": "serving"}
    with open(path("bare.json"), "w") as f:
        json.dump(bare, f)
    log = write_log(path("bare.jsonl"), steady())
    done = subprocess.run([SERVELAB, "report", log, "--objective", path("bare.json")], capture_output=True, text=True, timeout=PATIENCE_S)
    equal(done.returncode, 0, done.stderr)
    assert done.stdout.count("no limit") == 3, done.stdout  # the headline, the point, what can't be said
    assert "no limit" not in json.dumps(tree([log], objective(latency=[E2E_P99])))


def a_sum_beyond_every_number_is_said():
    records = [record(f"r-{i}", i * S, 20 * MS, 80 * MS, joules=1e308) for i in range(40)]
    made = tree([write_log(path("joules.jsonl"), records)], objective(hard_limits={"joules_per_response": 5}))
    text = json.dumps(made["points"][0]["parts"])
    assert "more than a number can hold" in text and "inf " not in text, text


def a_log_of_the_server_alone_is_measured_at_the_server():
    made = tree([write_log(path("server.jsonl"), steady(client=False))], objective())
    point = made["points"][0]
    equal((point["arrivals_seen_by"], point["counts"]["requests"], point["latency"]["client_ttft"]), ("server", 40, None))
    equal((point["counts"]["by_reason"]["finished_by_server"], point["counts"]["failed"], point["counts"]["completed"]), (40, 0, 0))
    equal(point["latency"]["server_ttft"]["p99"]["ns"], 10 * MS)
    limits = [{**E2E_P99, "interval": "server_ttft", "below_ms": 11}]
    equal(tree([path("server.jsonl")], objective(latency=limits), status=0)["points"][0]["verdict"], "met")
    equal(tree([path("server.jsonl")], objective(latency=[E2E_P99]), status=1)["points"][0]["verdict"], "not_computable")
    mixed = steady(20) + steady(5, first=20, client=False)
    point = tree([write_log(path("mixed.jsonl"), mixed)], objective(latency=[E2E_P99]))["points"][0]
    equal(point["verdict"], "not_computable")
    assert "no client measured 5 of the requests" in point["parts"][1]["text"], point["parts"]
    equal((point["arrivals_seen_by"], point["counts"]["requests"], point["records_left_out"]), ("client", 20, 5))


def a_paced_run_says_so_everywhere():
    paced = steady_run("paced", paced="llama-2-7b on h100")
    made = tree([paced], objective(latency=[E2E_P99]))
    equal((made["points"][0]["times"], made["points"][0]["pace"]), ("paced", "llama-2-7b on h100"))
    assert "No figure here is a measurement" in made["cannot_say"][0]
    for text in (report([paced], objective()).stdout, page_of([paced], objective())):
        assert "paced: llama-2-7b on h100, simulated" in text
    refused([paced, steady_run("real")], objective(), "don't belong on one curve")
    refused([paced, steady_run("other", paced="llama-2-7b on a100")], objective(), "don't belong on one curve")


def a_report_never_says_more_than_its_records():
    limits = {"latency": [E2E_P99], "reliability": {"max_failure_rate": 0.5, "failures": ["internal_error"]}}
    nothing = tree([write_log(path("nothing.jsonl"), steady(outcome="rejected"))], objective(), status=1)["points"][0]
    equal((nothing["verdict"], [p["part"] for p in nothing["parts"] if p["answer"] == "missed"]), ("missed", ["useful work"]))
    wrong = tree([write_log(path("wrong.jsonl"), steady(verdict="failed"))], objective(latency=[E2E_P99]), status=1)
    equal(wrong["points"][0]["verdict"], "missed", "every answer is wrong")
    server = [record(f"s-{i}", S + i * MS, 0, MS, outcome="internal_error", client=False) for i in range(90)]
    hidden = tree([write_log(path("hidden.jsonl"), steady() + server)], objective(reliability=limits["reliability"]), status=1)
    equal(hidden["points"][0]["verdict"], "not_computable", "nobody knows when the failures arrived")
    assert "of 90 more it is not known" in hidden["points"][0]["parts"][1]["text"], hidden["points"][0]["parts"]
    torn = write_log(path("torn-limit.jsonl"), steady())
    with open(torn, "a") as f:
        f.write('{"schema": "servelab.request-rec')
    equal(tree([torn], objective(**limits), "--skip-torn", status=1)["points"][0]["verdict"], "not_computable")
    late = tree([write_log(path("late.jsonl"), steady() + [record("r-x", 3 * S, MS, 2 * MS, attempt=2)])],
                objective(latency=[E2E_P99]), status=1)
    equal(late["points"][0]["verdict"], "not_computable", "the first attempt has no record")
    assert any("no first one" in line for line in late["cannot_say"]), late["cannot_say"]
    unseen = tree([write_log(path("unseen.jsonl"), steady(client=False))], objective(), status=0)
    equal((unseen["points"][0]["counts"]["useful"], unseen["points"][0]["rates"]["useful_rps"]), (None, None))
    assert "doesn't state how many accelerators" in report([steady_run("plain")], objective()).stdout
    assert "- **value**: not computable without " in report([path("plain")], objective()).stdout
    tight = {"resource": {"primary": "usd", "accelerators": 1, "reserve_fraction": 0.999}}
    assert "(reserve 99.9 %)" in report([path("plain")], objective(**tight)).stdout
    refused_one = steady() + [record("r-no", 3 * S, 0, MS, outcome="rejected")]
    said = tree([write_log(path("refused.jsonl"), refused_one)], objective())["cannot_say"]
    assert not any("had no check" in line for line in said), said


def an_invalid_run_moves_no_region():
    points = lambda *runs: tree(list(runs), objective())["points"]
    slow, fast = steady_run("calm", gap=200 * MS), steady_run("busy", gap=100 * MS)
    alone = [p["region"] for p in points(slow, fast)]
    quick = write_run(path("quick"), [record(f"q-{i}", S + i * 10 * MS, MS, 2 * MS) for i in range(40)],
                      run_file(S, S + 390 * MS, (S, S + 390 * MS), 40, valid=False, reasons=["late"]))
    equal([p["region"] for p in points(slow, fast, quick)], alone + [None])


def invalid_runs_alone_answer_nothing():
    bad = steady_run("bad-alone", valid=False, reasons=["late"])
    done = report([bad], objective(latency=[{**E2E_P99, "below_ms": 1}]))
    assert "not known: every run is invalid" in done.stdout.split("\n")[2], done.stdout
    equal(done.returncode, 1)


def too_few_requests_are_said():
    made = tree([steady_run("few", n=100)], objective(latency=[E2E_P99]))
    p50, p99 = (made["points"][0]["latency"]["e2e"][k] for k in ("p50", "p99"))
    equal((p50["too_few"], p99["too_few"], p99["ci95"]["hi_ns"]), (False, True, None))
    assert any("too few for a 99th percentile" in line for line in tree([steady_run("fewer", n=99)], objective())["cannot_say"])


def without_an_evaluated_answer_useful_is_not_computable():
    what = objective(quality={"check": "key-recall/1", "min_pass_rate": 0.9}, throughput={"min_rps": 1})
    made = tree([write_log(path("unjudged.jsonl"), steady(verdict="not_evaluated"))], what, status=1)
    point = made["points"][0]
    equal((point["verdict"], point["counts"]["useful"], point["rates"]["good_rps"]), ("not_computable", None, None))
    assert "not computable" in report([path("unjudged.jsonl")], what).stdout.split("\n")[2]


# ---- outputs ---------------------------------------------------------------------------------------------------------


def long_times_are_whole_and_a_reason_is_said_once():
    runs = os.path.join(TOP, "solutions/04_serving")
    done = subprocess.run([SERVELAB, "report", *(f"{runs}/runs/{i}" for i in range(3)), "--objective", f"{runs}/objective.json",
                           "--out", path("long")], capture_output=True, text=True, timeout=PATIENCE_S)
    equal(done.returncode, 0, done.stderr)
    with open(path("long", "report.html")) as f:
        page = f.read()
    assert ">1000 ms</text>" in page and ">100 s</text>" in page, "the curve's axis"
    assert "the queue grows, so that" in page and "value: the queue" not in page, "the value"


class Page(html.parser.HTMLParser):
    """Checks that tags nest, and keeps the text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.text, self.tags = [], "", set()
        self.feed(page)
        equal(self.open, [])

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            assert name not in ("src", "href", "onload", "onclick"), (tag, name, value)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        equal(self.open.pop(), tag)

    def handle_data(self, data):
        self.text += data


def the_page_stands_alone_and_shows_text_as_text():
    hostile = "<script>alert(1)</script>|`*"
    folder = steady_run(hostile[:8] + " &amp; run")
    what = {**objective(latency=[E2E_P99]), "name": hostile}
    made = page_of([folder], what)
    page = Page(made)
    assert "script" not in page.tags and hostile in page.text and folder in page.text
    assert "http" not in made
    marked = report([steady_run("`<b>|", gap=90 * MS), folder], what).stdout
    assert "(" + path("\\`\\<b>\\|") + ")" in marked.split("\n")[2], marked
    assert "\\<script>" in marked and marked.startswith("# Objective report: \\<script>alert(1)\\</script>\\|\\`\\*\n"), marked[:80]


def a_run_with_a_hostile_name_is_text_everywhere():
    log = os.path.join(work.encode(), "é".encode() * 60 + b"\n<b>\x01\xff.jsonl")
    write_log(log, steady())
    made = tree([log], objective(latency=[E2E_P99]))
    equal(made["points"][0]["run"], f"{work}/" + "é" * 60 + "?<b>??.jsonl")
    assert "?<b>??.jsonl" in Page(page_of([log], objective())).text
    marked = report([log], objective()).stdout
    assert "\x01" not in marked and "\n<b>" not in marked, marked


def a_predicted_curve_lies_under_the_measured_one():
    def percentile(ns, infinite=False):
        return {"ns": ns, "infinite": infinite}

    def point(rps, ns):
        return {"offered_rps": rps, "ttft_p50": percentile(ns), "ttft_p99": percentile(2 * ns), "e2e_p99": percentile(None, True)}

    sweep = {"schema": "servelab.sweep.v1", "machine": "a <machine>",
             "policies": [{"policy": "chunked", "points": [point(2, 50 * MS), point(5, 80 * MS), point(500, 90 * MS)]}]}

    def write(what):
        with open(path("sweep.json"), "w") as f:
            json.dump(what, f)
        return ("--predicted", path("sweep.json"))

    run = steady_run("predicted")
    made = tree([run], objective(), *write(sweep))
    equal([p["latency"]["client_ttft"]["p99"]["ns"] for p in made["predicted"]["points"]], [100 * MS, 160 * MS, 180 * MS])
    assert any("dashed" in line and "chunked" in line for line in made["cannot_say"]), made["cannot_say"]
    equal(tree([run], objective())["predicted"], None)
    report([run], objective(), *write(sweep), "--out", path("page"))
    with open(path("page", "report.html")) as f:
        page = f.read()
    lines = [line for line in page.splitlines() if 'polyline class="s' in line and "predicted" in line]
    equal([line.count(",") for line in lines], [2, 2, 2], "three series; the load of 500 is beyond what was measured")
    assert "a &lt;machine&gt;" in page
    for change in ({"schema": "x"}, {"policies": []}, {"policies": [{"policy": "p", "points": [{}]}]}, {"machine": 1}):
        done = report([run], objective(), *write({**sweep, **change}))
        equal(done.returncode, 2)
        assert path("sweep.json") in done.stderr, done.stderr


def overloaded_run(name, gap):
    """Each answer takes 200 ms longer than the one before: a queue grows."""
    records = [record(f"r-{i}", S + i * gap, 20 * MS, (80 + 200 * i) * MS) for i in range(40)]
    return write_run(path(name), records, run_file(S, S + 39 * gap, (S, S + 39 * gap), 40))


def the_bands_of_the_curve_are_the_regions_of_its_points():
    calm, late, later = steady_run("calm", gap=200 * MS), overloaded_run("late", 100 * MS), overloaded_run("later", 50 * MS)
    invalid = steady_run("invalid", gap=25 * MS, valid=False, reasons=["the client lagged"])
    for runs, regions, bands in (([calm, late], ["knee", "overloaded"], {"under", "over"}),
                                 ([late, later], ["overloaded"] * 2, {"over"}),
                                 ([late, later, invalid], ["overloaded"] * 2 + [None], {"over"}),
                                 ([invalid], [None], set())):
        equal([p["region"] for p in tree(runs, objective())["points"]], regions)
        drawn = page_of(runs, objective())
        equal({b for b in ("under", "knee", "over") if f'<rect class="{b}"' in drawn}, bands, runs)
        assert "nan" not in drawn and '="inf' not in drawn


def points_at_one_load_are_marks_and_the_line_goes_through_their_median():
    def run(name, gap, e2e):
        records = [record(f"r-{i}", S + i * gap, 20 * MS, e2e) for i in range(40)]
        return write_run(path(name), records, run_file(S, S + 39 * gap, (S, S + 39 * gap), 40))

    again = [run(f"again-{e2e}", 100 * MS, e2e * MS) for e2e in (90, 300, 80, 70, 60)]
    drawn = page_of([run("less", 400 * MS, 50 * MS), *again, run("more", 50 * MS, 400 * MS)], objective()).splitlines()
    joined = next(line for line in drawn if line.startswith('<polyline class="s1"')).split('"')[3].split()
    marks = [(line.split('"')[3], line.split('"')[5], line) for line in drawn if line.startswith('<circle class="s1"')]
    equal((len(joined), len(marks)), (3, 7), "a line through three loads, and seven marks")
    middle = next(f"{x},{y}" for x, y, line in marks if "again-80" in line)
    equal(joined[1], middle, "the median of 60, 70, 80, 90 and 300")
    even = page_of(again[:4], objective()).splitlines()
    equal(next(line for line in even if line.startswith('<polyline class="s1"')).split('"')[3].split(),
          [",".join(next(line for line in even if line.startswith('<circle class="s1"') and "again-80" in line).split('"')[3:6:2])],
          "of 70, 80, 90 and 300 the lower of the middle two")


def out_writes_all_three_and_says_where():
    folder = steady_run("to-out")
    done = report([folder], objective(latency=[E2E_P99]), "--out", path("made"))
    equal((done.returncode, done.stderr), (0, ""))
    equal(sorted(os.listdir(path("made"))), ["report.html", "report.json", "report.md"])
    equal(done.stdout.split("\n")[1], f"report: {path('made')}/report.html")
    done = report([folder], objective(), "--out", path("objective.json", "x"))
    equal(done.returncode, 4)
    assert "--out" in done.stderr


# ---- what must be refused --------------------------------------------------------------------------------------------


def an_overloaded_point_has_no_value_and_no_goodput():
    """It would look the cheapest: its window's answers were computed after the window."""
    what = objective(resource={"primary": "usd", "accelerators": 1, "usd_per_accelerator_hour": 2.5})
    made = tree([steady_run("value-calm", gap=200 * MS), overloaded_run("value-late", 25 * MS)], what)
    calm, late = made["points"]
    assert late["rates"]["useful_rps"] > late["rates"]["completed_rps"], late["rates"]
    for text in (report([path("value-late")], what).stdout, page_of([path("value-late")], what)):
        assert "useful/s and good/s are of the requests that arrived in it" in " ".join(text.split()), text
    equal(late["resource"]["useful_per_unit"], None)
    assert "the queue grows" in late["resource"]["not_computable"] and calm["resource"]["useful_per_unit"] > 0
    equal((made["goodput"]["good_requests_per_second"]["point"], made["goodput"]["good_requests_per_second"]["rps"]),
          (0, calm["rates"]["good_rps"]))


def bad_input_is_refused_with_its_place():
    good = steady()
    log = write_log(path("bad.jsonl"), good + [{**good[3], "attempt": 1}])
    refused([log], objective(), "bad.jsonl:41:", "attempt", "line 4")
    other = json.loads(json.dumps(good[7]))
    other["request_id"] = "r-x"
    for event in other["events"]:
        if event["clock"] == "browser":
            event["clock_api"] = "performance.now"
    refused([write_log(path("bad.jsonl"), good[:7] + [other])], objective(), "bad.jsonl:8:", "request_submitted", "one run has one clock")
    late = record("r-late", 900 * S, 20 * MS, 80 * MS)
    folder = write_run(path("two"), good + [late], run_file(S, 5 * S, (S, 5 * S), 41))
    refused([folder], objective(), "records.jsonl:41:", "another run")
    folder = write_run(path("lost"), good[:30], run_file(S, 5 * S, (S, 5 * S), 40))
    refused([folder], objective(), "records.jsonl:", "30 user requests", "40 were sent")
    retried = [record("r-t", 2 * S, MS, 2 * MS, outcome="internal_error"), record("r-t", S, MS, 2 * MS, attempt=2)]
    refused([write_log(path("bad.jsonl"), retried)], objective(), "bad.jsonl:2:", "attempt 2", "before attempt 1")
    mixed = steady(20, paced="llama-2-7b on h100") + steady(20, first=20, paced="llama-2-7b on a100")
    refused([write_log(path("bad.jsonl"), mixed)], objective(), "bad.jsonl:21:", "workload.paced", "one pace")
    renamed = [{**r, "request_id": r["request_id"].replace("r-", f"load-0000000{i // 20}-")} for i, r in enumerate(good)]
    refused([write_log(path("bad.jsonl"), renamed)], objective(), "bad.jsonl:21:", "request_id", "another run of `servelab load`")
    at_once = [{**r, "request_id": r["request_id"].replace("r-", f"load-0000000{i % 2}-")} for i, r in enumerate(good)]
    refused([write_log(path("bad.jsonl"), at_once)], objective(), "bad.jsonl:2:", "`grep load-00000000- LOG > PART.jsonl`")
    part = subprocess.run(["grep", "load-00000000-", path("bad.jsonl")], capture_output=True, text=True, check=True).stdout
    equal(tree([write_log(path("part.jsonl"), map(json.loads, part.splitlines()))], objective())["points"][0]["counts"]["requests"], 20)
    refused([write_run(path("two-loads"), renamed, run_file(S, 5 * S, (S, 5 * S), 40))], objective(), "records.jsonl:21:", "request_id")
    others = [{**r, "workload": {**r["workload"], "model": f"m{i // 20}"}} for i, r in enumerate(good)]
    refused([write_log(path("bad.jsonl"), others)], objective(), "bad.jsonl:21:", "workload.model", "one run has one model")
    seconds = json.loads(json.dumps(good[5]))
    for event in seconds["events"]:
        if event["event"] == "request_accepted":
            event["t_ns"] = 0
    refused([write_log(path("bad.jsonl"), good[:5] + [seconds])], objective(), "bad.jsonl:6:", "client_ttft", "before the server has a token")
    empty = run_file(S, None, (S, 2 * S), 0, valid=False, reasons=["no request was scheduled in the measured window"])
    refused([write_run(path("no-request"), [], empty)], objective(), "run.json:", "no request was scheduled in the measured window")
    for name, window, in_window in (("early", (S, 2 * S), 0), ("instant", (S, S), 1)):
        made = run_file(S, S, window, 1, valid=False, reasons=["the reason of the load"])
        made["counts"]["in_window"] = in_window
        refused([write_run(path(name), good[:1], made)], objective(), "run.json:", "is no point of a curve: the reason of the load")
    folder = write_run(path("more"), good, run_file(S, 5 * S, (S, 5 * S), 30))
    refused([folder], objective(), "records.jsonl:", "40 user requests", "30 were sent")
    backwards = record("r-b", S, 20 * MS, 80 * MS, lag=-30 * MS)
    refused([write_log(path("bad.jsonl"), [backwards])], objective(), "bad.jsonl:1:", "client_ttft")
    refused([write_log(path("bad.jsonl"), good[:1])], objective(), "one instant")
    refused([path("missing")], objective(), "missing")
    os.mkfifo(path("fifo"))
    for endless in ("/dev/zero", path("fifo")):
        refused([endless], objective(), endless, "not a regular file")
    refused([log], objective(latenzy=[]), "latenzy")
    refused([log], [], "objective.json")
    silent = {**good[0], "events": []}
    silent["outcome"] = {**silent["outcome"], "delivered": False}
    refused([write_log(path("bad.jsonl"), [silent])], objective(), "bad.jsonl:1:", "when it arrived")


def a_coarse_clock_of_a_browser_is_no_reason_to_refuse():
    """The server's TTFT is 150 ms. A browser may round its clock to 100 ms; the built-in client doesn't."""
    def seen(client_ms, source):
        r = record("r-c", 2 * S, 300 * MS, 900 * MS)
        for event in r["events"]:
            if event["clock"] == "browser":
                event.update(source=source)
            if event["event"] == "first_byte_received":
                event["t_ns"] = 2 * S + client_ms * MS
        return [write_log(path("coarse.jsonl"), [*steady(9), r])]
    tree(seen(51, "browser"), objective())
    tree(seen(149, "client"), objective())
    refused(seen(49, "browser"), objective(), "coarse.jsonl:10:", "client_ttft", "before the server has a token")
    refused(seen(148, "client"), objective(), "coarse.jsonl:10:", "client_ttft", "before the server has a token")


def token_times_with_two_boundaries_are_told_apart():
    def sent(r):
        at = next(e["t_ns"] for e in r["events"] if e["event"] == "first_token")
        for i in range(2):
            r["events"].append({"event": "token_sent", "t_ns": at + (i + 1) * MS, "clock": "server", "source": "server_log",
                                "clock_api": "CLOCK_MONOTONIC", "tokens": 32})
        return r

    def said(records):
        made = tree([write_log(path("boundaries.jsonl"), records)], objective())
        return [line for line in made["cannot_say"] if "TPOT of" in line]

    mixed = [sent(r) if i < 15 else r for i, r in enumerate(steady())]
    line, = said(mixed)
    assert "TPOT of 25 requests is between bytes at the client" in line and "of 15 it is between tokens" in line, line
    equal((said(steady()), said([sent(r) for r in steady()])), ([], []))


def a_text_in_one_piece_has_no_tpot():
    """Of a server that keeps no records. What the client noted of its chunks counts, where that is possible."""
    def foreign(i, **client):
        r = record(f"r-{i}", S + i * 100 * MS, 20 * MS, 83 * MS)
        r["events"] = [e for e in r["events"] if e["clock"] == "browser"]
        return {**r, "client": client}

    def said(**client):
        limit = {"interval": "tpot", "percentile": 50, "below_ms": 1, "scope": "population"}
        made = tree([write_log(path("piece.jsonl"), [foreign(i, **client) for i in range(9)])], objective(latency=[limit]))
        tpot, piece = made["points"][0]["latency"]["tpot"], [line for line in made["cannot_say"] if "in one piece" in line]
        limit, = [part for part in made["points"][0]["parts"] if part["part"] == "tpot p50"]
        return tpot and tpot["p50"]["ns"], len(piece), limit["answer"]

    for one in ({"answer_chunks": 1, "reasoning_chunks": 0}, {"answer_chunks": 1}, {"chunk_gaps_ns": [0, 0]}):
        equal(said(**one), (None, 1, "not_computable"), one)
    equal(said(answer_chunks=2, reasoning_chunks=0), (MS, 0, "missed"), "(83 - 20) / 63")
    equal(said(chunk_gaps_ns=[6.3 * MS, 6.3 * MS]), (MS // 5, 0, "met"), "without the end after the last text")
    for wrong in ([70 * MS], [-MS, 3 * MS], ["1"], [0.4], [1e308, 1e308], "1", {"a": 1}):
        equal(said(chunk_gaps_ns=wrong), (MS, 0, "missed"), wrong)


def one_run_named_twice_is_one_point():
    folder = steady_run("twice", 30)
    refused([folder, folder + "/"], objective(), "twice/: has the same records as", "name each run once")
    refused([folder, os.path.join(folder, "records.jsonl")], objective(), "has the same records as")


def a_name_does_not_steer_the_terminal():
    what = objective(name="a\x1b[31m\u202eb\u009bc")
    folder = steady_run("odd_name", 30)
    for text in (report([folder], what).stdout, page_of([folder], what)):
        assert "a\ufffd[31m\ufffdb\ufffdc" in text, text[:200]
        assert not set("\x1b\u202e\u009b") & set(text)


def a_value_that_no_number_holds_has_a_reason():
    what = objective()
    what["resource"] = {"primary": "usd", "accelerators": 1, "usd_per_accelerator_hour": 1e-320}
    resource = tree([steady_run("cheap", 30)], what)["points"][0]["resource"]
    equal(resource["useful_per_unit"], None)
    assert "more than a number can hold" in resource["not_computable"], resource


def a_torn_line_is_refused_or_counted():
    log = write_log(path("torn.jsonl"), steady())
    with open(log, "a") as f:
        f.write('{"schema": "servelab.request-record.v1", "req')
    refused([log], objective(), "torn.jsonl:41:")
    made = tree([log], objective(), "--skip-torn")
    equal((made["points"][0]["torn_lines"], made["points"][0]["counts"]["requests"]), (1, 40))
    assert any("cut off" in line for line in made["cannot_say"])


def bad_run_files_are_refused():
    good = run_file(S, 5 * S, (S, 5 * S), 40)
    for part, change in (("schema", {"schema": "x"}), ("valid", {"valid": 1}), ("counts", {"counts": None}),
                         ("schedule", {"schedule": []}), ("workload", {"workload": {"arrivals": 3, "ignore_eos": True}}),
                         ("window_to_t_ns", {"schedule": {**good["schedule"], "window_to_t_ns": S}}),
                         ("first_t_ns", {"schedule": {**good["schedule"], "first_t_ns": -1}}), ("paced", {"paced": 7}),
                         ("window_from_t_ns", {"schedule": {**good["schedule"], "window_from_t_ns": S - 1}}),
                         ("window_to_t_ns", {"schedule": {**good["schedule"], "window_to_t_ns": 6 * S}}),
                         ("window_to_t_ns", {"schedule": {**good["schedule"], "duration_s": 3}}),
                         ("workload.arrivals", {"workload": {"arrivals": "burst", "ignore_eos": True}}),
                         ("invalid_reasons", {"invalid_reasons": "none"}), ("valid", {"invalid_reasons": ["the client lagged"]})):
        folder = write_run(path("bad-run"), steady(), {**good, **change})
        refused([folder], objective(), "run.json:", part)


def mutated_files_crash_nothing():
    rng = random.Random(7)
    folder = steady_run("mutated", n=6)
    for name in ("run.json", "records.jsonl"):
        with open(path("mutated", name), "rb") as f:
            whole = f.read()
        for _ in range(60):
            b = bytearray(whole)
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(len(b))
                b[at:at + rng.randrange(0, 3)] = bytes(rng.choices(b'0123456789"{}[]:,-e.nul\x00\xff', k=rng.randrange(0, 3)))
            with open(path("mutated", name), "wb") as f:
                f.write(b)
            done = report([folder], objective(latency=[E2E_P99]))
            assert done.returncode in (0, 1, 2), (done.returncode, done.stderr, bytes(b))
            assert (done.returncode == 2) == bool(done.stderr), done.stderr
        with open(path("mutated", name), "wb") as f:
            f.write(whole)


# ---- a run that was served -------------------------------------------------------------------------------------------


def a_served_run():
    with RealServer("--pace", "llama-2-7b:a100", "--step-log", path("steps")) as s:
        done = subprocess.run([SERVELAB, "load", "--url", f"http://127.0.0.1:{s.port}", "--arrivals", "poisson",
                               "--rate-rps", "8", "--requests", "12", "--prompt-tokens", "64", "--output-tokens", "8",
                               "--check-share", "0.5", "--out", path("served"), "--json"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        load = json.loads(done.stdout)
    os.rename(path("steps"), path("served", "steps.jsonl"))
    point = tree([path("served")], objective(latency=[E2E_P99]))["points"][0]
    equal((point["times"], point["pace"]), ("paced", "llama-2-7b on a100"))
    equal(point["counts"]["requests"], 12)
    assert point["diagnostics"]["engine_steps"] > 0 and 0 < point["resource"]["busy_seconds"]
    return load


work = tempfile.mkdtemp(prefix="servelab-report-")
TESTS = [long_times_are_whole_and_a_reason_is_said_once, figures_equal_those_computed_from_the_definitions, the_worked_example,
         a_retry_is_one_request_and_every_try_is_resource, a_run_whose_client_lagged_is_shown_and_never_chosen,
         answers_without_a_check_follow_the_runs_fixed_length, a_log_alone_goes_a_mean_gap_beyond_its_last_arrival, an_objective_without_a_limit_is_not_met_in_silence,
         a_sum_beyond_every_number_is_said,
         a_log_of_the_server_alone_is_measured_at_the_server, a_paced_run_says_so_everywhere,
         a_report_never_says_more_than_its_records, an_invalid_run_moves_no_region, invalid_runs_alone_answer_nothing, too_few_requests_are_said, without_an_evaluated_answer_useful_is_not_computable,
         the_page_stands_alone_and_shows_text_as_text, a_run_with_a_hostile_name_is_text_everywhere,
         a_predicted_curve_lies_under_the_measured_one, the_bands_of_the_curve_are_the_regions_of_its_points,
         points_at_one_load_are_marks_and_the_line_goes_through_their_median,
         an_overloaded_point_has_no_value_and_no_goodput, out_writes_all_three_and_says_where,
         token_times_with_two_boundaries_are_told_apart, a_text_in_one_piece_has_no_tpot, one_run_named_twice_is_one_point, a_name_does_not_steer_the_terminal, a_value_that_no_number_holds_has_a_reason,
         bad_input_is_refused_with_its_place, a_coarse_clock_of_a_browser_is_no_reason_to_refuse, a_torn_line_is_refused_or_counted, bad_run_files_are_refused,
         mutated_files_crash_nothing, a_served_run]
status = run_tests(TESTS)
if not jsonschema:
    print(f"ok {len(TESTS) + 1} - the schema # SKIP the package jsonschema isn't installed; `make deps-test` does that\n1..{len(TESTS) + 1}")
subprocess.run(["rm", "-rf", work], check=True)
sys.exit(status)
