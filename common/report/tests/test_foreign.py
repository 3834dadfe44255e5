#!/usr/bin/env python3
"""test_foreign.py: `servelab report` on results of vllm bench serve, AIPerf and GuideLLM: its figures against those computed here
from the tools' definitions, what is absent, and what is refused."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../serve/tests"))
from harness import PATIENCE_S, SERVELAB, TOP, equal, run_tests  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

VLLM, GUIDELLM, AIPERF = (os.path.join(HERE, "foreign", name)
                          for name in ("vllm-bench-0.33.0.json", "guidellm-0.8.1.json", "aiperf-0.13.0.jsonl"))


def read(path):
    with open(path) as f:
        return f.read()


def write(name, what):
    with open(os.path.join(work, name), "w") as f:
        f.write(what if isinstance(what, str) else json.dumps(what))
    return os.path.join(work, name)


def report(*args):
    return subprocess.run([SERVELAB, "report", *args, "--objective", os.path.join(TOP, "common/report/objective.json")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)


def tree(*runs):
    done = report(*runs, "--json")
    assert done.returncode in (0, 1) and not done.stderr, (done.returncode, done.stderr)
    made = json.loads(done.stdout)
    if jsonschema:
        jsonschema.validate(made, json.loads(read(os.path.join(TOP, "common/report/report.schema.json"))))
    return made


def point(run):
    return tree(run)["points"][0]


def refused(message, run):
    done = report(run)
    equal((done.returncode, done.stdout), (2, ""), done.stderr)
    assert message in done.stderr, f"wanted '{message}' in: {done.stderr}"


def nearest_rank(values, p):
    return sorted(values)[math.ceil(p / 100 * len(values)) - 1]


def same_times(p, ttft_s, tpot_s, e2e_s):
    """Seconds of every completed request, at most 3 ns off: the tools write floating-point numbers."""
    for interval, values in (("client_ttft", ttft_s), ("tpot", tpot_s), ("e2e", e2e_s)):
        got = p["latency"][interval]["p50"]["ns"]
        want = nearest_rank(values, 50) * 1e9
        assert abs(got - want) <= 300, (interval, got, want)


def vllm_by_its_definitions():
    v, p = json.loads(read(VLLM)), point(VLLM)
    equal(p["source"]["tool"], "vLLM bench")
    same_times(p, v["ttfts"], [(e - t) / (n - 1) for e, t, n in zip(v["latencies"], v["ttfts"], v["output_lens"])], v["latencies"])
    equal((p["counts"]["requests"], p["counts"]["completed"], p["closed_loop"]), (4, 4, False))
    equal(p["counts"]["output_tokens"], sum(v["output_lens"]))
    del v["latencies"]  # earlier versions: the end is the sum of the gaps
    ends = [t + sum(gaps) for t, gaps in zip(v["ttfts"], v["itls"])]
    v["max_concurrency"] = 4
    p = point(write("v.json", v))
    same_times(p, v["ttfts"], [(e - t) / 7 for e, t in zip(ends, v["ttfts"])], ends)
    equal(p["closed_loop"], True)


def guidellm_by_its_definitions():
    requests, p = json.loads(read(GUIDELLM))["benchmarks"][0]["requests"]["successful"], point(GUIDELLM)
    equal((p["source"]["tool"], p["source"]["version"], p["closed_loop"]), ("GuideLLM", "0.8.1", True))
    times = [r["info"]["timings"] for r in requests]
    same_times(p, [t["first_token_iteration"] - t["request_start"] for t in times],
               [(t["last_token_iteration"] - t["first_token_iteration"]) / (r["output_metrics"]["total_tokens"] - 1)
                for t, r in zip(times, requests)], [t["request_end"] - t["request_start"] for t in times])
    equal(p["counts"]["prompt_tokens"], sum(r["input_metrics"]["total_tokens"] for r in requests))


def aiperf_by_its_definitions():
    lines, p = [json.loads(line) for line in read(AIPERF).splitlines()], point(AIPERF)
    good = [line["metrics"] for line in lines if "error" not in line]
    equal((p["source"]["tool"], p["counts"]["requests"], p["counts"]["completed"]), ("AIPerf", 5, 4))
    equal(p["counts"]["by_reason"]["not_delivered"], 1)
    # the failed one is +infinity: of 5 requests, the third is the median
    for interval, key in (("client_ttft", "time_to_first_token"), ("tpot", "inter_token_latency"), ("e2e", "request_latency")):
        want = sorted(m[key]["value"] for m in good)[2] * 1e6
        assert abs(p["latency"][interval]["p50"]["ns"] - want) <= 2, interval
        equal((p["latency"][interval]["p99"]["ns"], p["latency"][interval]["p99"]["infinite"]), (None, True))
    window = [line["metadata"]["request_start_ns"] for line in lines]
    assert abs(p["window"]["to_ns"] - (max(window) - min(window))) < 1000, p["window"]
    lines[0]["metadata"]["benchmark_phase"] = "warmup"
    equal(point(write("a.jsonl", "\n".join(map(json.dumps, lines)) + "\n"))["counts"]["requests"], 4)


def what_a_tool_lacks_is_absent_and_said():
    for run in (VLLM, GUIDELLM, AIPERF):
        made = tree(run)
        p = made["points"][0]
        equal([p["latency"][i] for i in ("server_ttft", "queue_delay")], [None, None])
        equal((p["rates"]["useful_rps"], p["rates"]["good_rps"], p["resource"]["busy_seconds"]), (None, None, None))
        equal(([part["answer"] for part in p["parts"] if part["part"] == "quality"], p["diagnostics"]), (["not_computable"], None))
        equal(p["verdict"], "missed", "a window of a few requests is too short to be stable")
        said = "\n".join(made["cannot_say"])
        for part in ("by its definitions", "no schedule", "no finish reason", "no answer was checked"):
            assert part in said, (run, part, said)
        assert p["source"]["tool"] in report(run).stdout


def failures_are_in_the_population():
    v = json.loads(read(VLLM))
    v["errors"][1], v["ttfts"][1], v["itls"][1], v["latencies"][1], v["output_lens"][1] = "Service Unavailable", 0.0, [], 0.0, 0
    p = point(write("failed.json", v))
    equal((p["counts"]["requests"], p["counts"]["completed"], p["latency"]["e2e"]["p99"]["infinite"]), (4, 3, True))
    g = json.loads(read(GUIDELLM))
    requests = g["benchmarks"][0]["requests"]
    requests["errored"], requests["incomplete"] = [requests["successful"].pop()], [requests["successful"].pop()]
    p = point(write("failed.json", g))
    equal((p["counts"]["completed"], p["counts"]["by_reason"]["not_delivered"], p["counts"]["by_reason"]["cancelled"]), (1, 1, 1))
    lines = [json.loads(line) for line in read(AIPERF).splitlines()]
    for line, error in zip(lines, ({"code": 429}, {"code": 500}, {"type": "TimeoutError"}, {"type": "X"})):
        line["error"] = error
    by = point(write("failed.jsonl", "\n".join(map(json.dumps, lines))))["counts"]["by_reason"]
    equal([by[r] for r in ("rejected", "internal_error", "timed_out", "not_delivered")], [1, 1, 1, 2])


def a_field_that_is_not_what_the_tool_writes_is_named():
    """Nothing is taken for another definition, for 0, for a warm-up or for a failure."""
    v, g = json.loads(read(VLLM)), json.loads(read(GUIDELLM))
    for change, message in (({"latencies": "x"}, "latencies: isn't a list of 4"), ({"latencies": v["latencies"][:3]}, "latencies: isn't a list of 4"),
                            ({"latencies": [None, *v["latencies"][1:]]}, "latencies: is missing or no number, in 'request 1'"),
                            ({"latencies": [*v["latencies"][:3], 1e-9]}, "latencies: is "),
                            ({"output_lens": [2**31, 1, 1, 1]}, "output_lens: of request 1")):
        refused(message, write("v.json", {**v, **change}))

    def guide(change, message):
        changed = json.loads(json.dumps(g))
        change(changed["benchmarks"][0]["requests"]["successful"][1])
        refused(message, write("g.json", changed))

    for key in ("request_start", "request_end", "first_token_iteration"):
        for lost in (lambda o: o["info"]["timings"].pop(key), lambda o: o["info"]["timings"].update({key: None})):
            guide(lost, f"info.timings.{key}: is missing")
    guide(lambda o: o["info"]["timings"].update(last_token_iteration=1), "last_token_iteration: is ")
    guide(lambda o: o["info"]["timings"].update(request_end=1), "in benchmarks[0].requests.successful[1]")
    guide(lambda o: o.update(output_metrics="x"), "output_metrics: must be an object")
    unknown = json.loads(json.dumps(g))
    for r in unknown["benchmarks"][0]["requests"]["successful"]:
        r["info"]["timings"].pop("last_token_iteration")
    equal(point(write("g.json", unknown))["latency"]["tpot"], None, "without its end there is no TPOT, and not one of 0")
    unknown["benchmarks"][0]["config"]["strategy"]["type_"] = "other"
    assert any("doesn't say whether the loop was open" in line for line in tree(write("g.json", unknown))["cannot_say"])

    first, second, *rest = read(AIPERF).splitlines()
    for change, message in ((lambda o: o["metadata"].update(benchmark_phase="x"), ":2: metadata.benchmark_phase: 'x' is unknown"),
                            (lambda o: o.pop("metrics"), ":2: metrics: is missing"),
                            (lambda o: o.update(metrics="x"), ":2: metrics: must be an object"),
                            (lambda o: o["metrics"].update(output_sequence_length=3), ":2: output_sequence_length: must be an object")):
        o = json.loads(second)
        change(o)
        refused(message, write("a.jsonl", "\n".join([first, json.dumps(o), *rest]) + "\n"))


def summaries_and_broken_files_are_refused():
    v, g = json.loads(read(VLLM)), json.loads(read(GUIDELLM))
    refused("--save-detailed", write("s.json", {k: x for k, x in v.items() if k not in ("ttfts", "start_times")}))
    refused("profile_export.jsonl", write("s.json", {"aiperf_version": "0.13.0", "request_latency": {"avg": 1}}))
    refused("benchmarks: has 2 members", write("s.json", {**g, "benchmarks": g["benchmarks"] * 2}))
    refused("benchmarks: has 0 members", write("s.json", {**g, "benchmarks": []}))
    refused("itls: has 3 members and start_times has 4", write("s.json", {**v, "itls": v["itls"][:3]}))
    refused("ttfts: of request 1", write("s.json", {**v, "ttfts": ["x"] * 4}))
    refused("holds no request", write("s.json", {**v, **{k: [] for k, x in v.items() if isinstance(x, list)}}))
    g["benchmarks"][0]["requests"] = {"successful": None}
    refused("successful: of benchmarks[0].requests is no list", write("s.json", g))
    line = json.loads(read(AIPERF).splitlines()[0])
    line["metrics"]["request_latency"]["unit"] = "fortnights"
    refused("1: request_latency: is in 'fortnights'", write("s.jsonl", line))
    refused(":3: the text ends inside", write("s.jsonl", read(AIPERF).splitlines()[0] + "\n{\n"))
    refused("schema: is missing", write("s.json", {"hello": 1}))


def a_line_without_end_takes_no_memory():
    """Of a file that isn't text, say: 2 GiB here, of which nothing is on the disk."""
    path = write("endless", "")
    os.truncate(path, 2 << 30)
    with subprocess.Popen([SERVELAB, "report", path, "--objective", os.path.join(TOP, "common/report/objective.json")], stderr=subprocess.PIPE, text=True) as p:
        said = p.stderr.read()
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    equal(p.returncode, 2)
    assert "endless:1: a line longer than" in said and used.ru_maxrss < 512 * 1024, (said, used.ru_maxrss)


def the_definitions_are_those_of_the_page():
    done = subprocess.run([SERVELAB, "report", "--explain-metrics"], capture_output=True, text=True, timeout=PATIENCE_S)
    page = read(os.path.join(TOP, "common/DEFINITIONS.md"))
    equal((done.returncode, done.stdout), (0, page), done.stderr)
    # what a report says of another tool's figures is what the page says, with the same version
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in page.splitlines() if line.startswith("| ")]
    sources = {row[0]: row for row in rows if len(row) == 4}
    for run, tpot, key, version in ((VLLM, "vLLM bench, TPOT", "V1", "0.33.0"), (AIPERF, "AIPerf, ITL", "A1", "0.13.0"),
                                    (GUIDELLM, "GuideLLM, ITL", "G1", "0.8.1")):
        formula = next(row[1] for row in rows if row[0] == tpot).split(";")[0]
        assert formula in point(run)["source"]["tpot"], (formula, point(run)["source"])
        equal(sources[key][2], version)
        assert version in os.path.basename(run), "the fixture is of the version that was read"
    for args, message in (([VLLM], "no RUN"), (["--json"], "--json"), (["--objective", "x"], "--objective")):
        done = subprocess.run([SERVELAB, "report", "--explain-metrics", *args], capture_output=True, text=True, timeout=PATIENCE_S)
        equal(done.returncode, 2)
        assert message in done.stderr, done.stderr


def damaged_files_end_with_a_message():
    rng = random.Random(5)
    for source in (VLLM, GUIDELLM, AIPERF):
        seed = read(source).encode()
        for _ in range(60):
            text = bytearray(seed)
            for _ in range(rng.randint(1, 3)):
                at = rng.randrange(len(text))
                text[at:at + rng.randint(0, 4)] = rng.choice((b"", b"9" * 15, b"-", b"{", b"\xff", b"null", b'"', b"1e99", b"[]"))
            path = os.path.join(work, "damaged")
            with open(path, "wb") as f:
                f.write(text)
            done = report(path, "--json")
            assert done.returncode in (0, 1, 2), (done.returncode, bytes(text), done.stderr)
            assert done.returncode != 2 or done.stderr.startswith("servelab report: "), done.stderr


with tempfile.TemporaryDirectory() as work:
    status = run_tests([vllm_by_its_definitions, guidellm_by_its_definitions, aiperf_by_its_definitions, what_a_tool_lacks_is_absent_and_said,
               failures_are_in_the_population, summaries_and_broken_files_are_refused, a_field_that_is_not_what_the_tool_writes_is_named,
               a_line_without_end_takes_no_memory, the_definitions_are_those_of_the_page, damaged_files_end_with_a_message])
sys.exit(status)
