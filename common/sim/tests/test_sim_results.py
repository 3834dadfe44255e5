"""test_sim_results.py: the outputs of `servelab sim run` and `sim sweep`: every plotted point is the
JSON's, records agree with the run, dollars with the formula, bad input is named, nothing partial is
reported as whole."""
# servelab-test: waits
import glob, json, math, os, pty, re, shlex, signal, subprocess, sys, tempfile, time
import xml.etree.ElementTree as ET

PROGRAM = os.path.abspath(os.environ.get("SERVELAB", "build/bin/servelab"))
DATA = os.environ.get("SERVELAB_DATA", "../shared/data")
AZURE = os.path.abspath(os.path.join(DATA, "traces/AzureLLMInferenceTrace_conv.csv"))
SVG = "{http://www.w3.org/2000/svg}"
MODEL = ["--model", "llama-2-7b", "--gpu", "h100"]
work = tempfile.mkdtemp(prefix="servelab-results-")
count = failed = 0


def report(ok, name, why=""):
    global count, failed
    count += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}" + ("" if ok else f": {why}"))


def sim(*args, text=True):
    return subprocess.run([PROGRAM, "sim", *args], cwd=work, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=text)


def sim_json(*args):
    done = sim(*args, "--json")
    if done.returncode != 0:
        raise SystemExit(f"sim {' '.join(args)}: {done.stderr}")
    return json.loads(done.stdout)


def load(name):
    with open(os.path.join(work, name)) as f:
        return json.load(f)


# ---- the curve ---------------------------------------------------------------------------------

def points_of(svg):
    """{panel name: [(panel attributes, point attributes)]}"""
    panels = {}
    for g in svg.iter(SVG + "g"):
        if g.get("class") == "panel":
            panels[g.get("data-name")] = [(g.attrib, p.attrib) for p in g.iter(SVG + "g")
                                          if p.get("class") == "point"]
    return panels


def place(panel, x, y_s):
    """Where a point must be, from the panel's axes alone."""
    lo, hi = float(panel["data-y-min"]), float(panel["data-y-max"])
    left, width = float(panel["data-left"]), float(panel["data-width"])
    top, height = float(panel["data-top"]), float(panel["data-height"])
    return (left + x / float(panel["data-x-max"]) * width,
            top + height * math.log(hi / y_s) / math.log(hi / lo))


def compare_points(name, tree, svg):
    want = {(p["policy"], k): q for p in tree["policies"] for k, q in enumerate(p["points"])
            if q["mean_latency_ns"] is not None}
    for panel, key in (("load", "offered_rps"), ("throughput", "throughput_rps")):
        got = points_of(svg)[panel]
        seen = {(p["data-policy"], int(p["data-index"])) for _, p in got}
        report(seen == set(want) and len(got) == len(want), f"{name}, {panel}: every point once",
               f"{len(got)} drawn, {len(want)} in the JSON")
        wrong = []
        for axes, p in got:
            q = want.get((p["data-policy"], int(p["data-index"])))
            x, y = place(axes, q[key], q["mean_latency_ns"] / 1e9)
            px, py = map(float, re.match(r"translate\((.*),(.*)\)", p["transform"]).groups())
            same = (float(p["data-offered-rps"]) == q["offered_rps"] and
                    float(p["data-throughput-rps"]) == q["throughput_rps"] and
                    float(p["data-mean-latency-ns"]) == q["mean_latency_ns"] and
                    p["data-region"] == q["region"])
            if not same or abs(px - x) > 0.01 or abs(py - y) > 0.01:
                wrong.append((p["data-policy"], p["data-index"]))
        report(not wrong, f"{name}, {panel}: every point is the JSON's, and at its place", wrong)


def check_curve():
    sweep = ["sweep", "--arrivals", "poisson", "--requests", "400", *MODEL, "--prompt-tokens",
             "50:1500", "--output-tokens", "1:200", "--policies", "continuous,static:8", "--out",
             "two & two"]
    done = sim(*sweep)
    report(done.returncode == 0 and done.stderr == "", "a sweep; nothing on a pipe but the result",
           done.stderr)
    tree = load("two & two/sweep.json")
    with open(os.path.join(work, "two & two/curve.svg")) as f:
        text = f.read()
    svg = ET.fromstring(text)
    report(tree["complete"] is True and [p["policy"] for p in tree["policies"]] ==
           ["continuous", "static:8"], "the JSON says it is complete and has both policies")
    compare_points("two policies", tree, svg)
    words = " ".join(t.text or "" for t in svg.iter(SVG + "text"))
    report(all(w in words for w in ("offered load, requests/s", "throughput, complete requests/s",
                                    "latency, s", "underloaded", "knee", "overloaded",
                                    "400 requests", "llama-2-7b")),
           "axes with units, named regions, workload and machine are in the picture", words)
    styles = {(p.get("stroke-dasharray"), p.get("stroke")) for p in svg.iter(SVG + "polyline")}
    dashes = {d for d, _ in styles}
    report(len(styles) == 2 and len(dashes) == 2, "the lines differ without colour", styles)
    report(svg.find(SVG + "title").text and svg.find(SVG + "desc").text and
           svg.get("role") == "img", "a title and a description for those who don't see it")
    report("href" not in text, "the picture needs nothing from outside")
    for p in tree["policies"]:
        best = max((q["throughput_rps"] / q["mean_latency_ns"], -k)
                   for k, q in enumerate(p["points"]) if q["mean_latency_ns"])
        knee, sat = p["knee"], p["saturation"]
        most = max(q["throughput_rps"] for q in p["points"] if q["stable"])
        regions = [q["region"] for q in p["points"]]
        want = ["overloaded" if not q["stable"] or q["offered_rps"] > sat["offered_rps"] else
                "underloaded" if q["offered_rps"] < knee["offered_rps"] else "knee"
                for q in p["points"]]
        report(knee["index"] == -best[1] and sat["throughput_rps"] == most and regions == want,
               f"{p['policy']}: knee, saturation and regions are those of the points", regions)
        g = p["highest_within_limits"]
        limit = tree["limits"]
        met = g["found"] and g["at"]["ttft_p99"]["ns"] < limit["ttft_p99_below_ns"] and \
            g["at"]["tpot_p99"]["ns"] < limit["tpot_p99_below_ns"] and g["at"]["stable"]
        report(met and g["rate_per_gpu_rps"] == g["rate_rps"] and
               g["attainment"] == g["at"]["good"] / g["at"]["requests"],
               f"{p['policy']}: the highest load is within the limits", g)
    again = sim(*sweep, "--jobs", "1", "--json")
    report(json.loads(again.stdout) == tree, "the same sweep again, one run at a time: the same")
    one = ["sweep", "--arrivals", "poisson", "--requests", "200", "--policies", "single", "--rates",
           "20:300:5", "--out", "one"]
    report(sim(*one).returncode == 0, "one policy, stated loads")
    with open(os.path.join(work, "one/curve.svg")) as f:
        svg = ET.fromstring(f.read())
    compare_points("one policy", load("one/sweep.json"), svg)
    shaded = {r.get("data-region") for r in svg.iter(SVG + "rect") if r.get("class") == "region"}
    report(shaded == {"underloaded", "knee", "overloaded"}, "its three regions are shaded", shaded)
    rates = [q["rate_rps"] for q in load("one/sweep.json")["policies"][0]["points"]]
    report(rates == [20, 90, 160, 230, 300], "LO:HI:N is N loads from LO to HI", rates)


def check_fleet():
    args = ["sweep", "--arrivals", "poisson", *MODEL, "--policies", "continuous", "--out", "fleet",
            "--json"]
    one = json.loads(sim(*args).stdout)["policies"][0]["highest_within_limits"]
    four = json.loads(sim(*args, "--servers", "4", "--router", "least-outstanding",
                          "--usd-per-gpu-hour", "2", "--reserve-fraction", "0.5").stdout)
    g = four["policies"][0]["highest_within_limits"]
    report(four["gpus"] == 4 and g["rate_per_gpu_rps"] == g["rate_rps"] / 4 and
           g["good_per_gpu_rps"] == g["good_rps"] / 4, "a fleet of four: goodput per GPU", g)
    report(0.9 < g["rate_per_gpu_rps"] / one["rate_per_gpu_rps"] < 1.2,
           "and a GPU of it takes about what one alone takes", (one["rate_per_gpu_rps"], g))
    hours = g["at"]["requests"] / g["at"]["offered_rps"] / 3600
    want = g["at"]["complete"] / (4 / (1 - 0.5) * hours * 2)
    report(abs(g["complete_responses_per_usd"] / want - 1) < 1e-9, "and its responses per dollar", g)


def check_nothing_complete():
    done = sim("sweep", "--arrivals", "poisson", "--requests", "50", "--policies", "continuous",
               "--rates", "1,2", "--prompt-tokens", "100", "--kv-blocks", "2", "--out", "none")
    tree = load("none/sweep.json")
    with open(os.path.join(work, "none/curve.svg")) as f:
        svg = ET.fromstring(f.read())
    point = tree["policies"][0]["points"][0]
    report(done.returncode == 0 and point["shed"] == 50 and point["mean_latency_ns"] is None and
           point["e2e_p99"]["infinite"] and point["e2e_p99"]["ns"] is None and
           tree["policies"][0]["knee"] is None and not points_of(svg)["load"],
           "all refused: infinite percentiles, no knee, no latency to draw", point)


# ---- a run -------------------------------------------------------------------------------------

def check_run_keys():
    r = sim_json("run", "--arrivals-ms", "0,1,2,3", "--policy", "wait-for-n:4", "--per-request")
    q = [(x["arrival_ns"], x["start_ns"], x["completion_ns"], x["wait_ns"], x["latency_ns"])
         for x in r["requests"]]
    ms = 1000000
    report(q == [(i * ms, 3 * ms, 11 * ms, (3 - i) * ms, (11 - i) * ms) for i in range(4)],
           "the hand-worked group of four, to the nanosecond", q)
    report((r["mean_latency_ns"], r["mean_wait_ns"], r["interval_ns"], r["n"]) ==
           (9.5 * ms, 1.5 * ms, 11 * ms, 4) and abs(r["throughput_rps"] - 4 / 0.011) < 1e-9 and
           r["p99_latency_ns"] == 11 * ms and r["p50_latency_ns"] == 9 * ms, "and its figures")
    report(r["forward_passes"] == 1 and abs(r["ips"] - 1 / 0.011) < 1e-9 and
           r["mean_batch"] == 4, "a batch of four is one forward pass")


def check_denominators():
    base = ["run", "--arrivals", "poisson", "--requests", "300", "--rate-rps", "12", *MODEL,
            "--policy", "continuous", "--output-tokens", "50:150"]
    for name, more, key in (("shed", ["--max-in-system", "4"], "shed"),
                            ("truncated", ["--max-output-tokens", "120"], "truncated"),
                            ("broken", ["--fail-rate", "0.1"], "broken")):
        r = sim_json(*base, *more, "--per-request")
        w = r["window"]
        by_class = [q["class"] for q in r["requests"]].count(name)
        report(by_class > 9 and w[key] == by_class and w["requests"] == 300 and
               w["complete"] == 300 - by_class and w["e2e_p99"]["n"] == 300 and
               w["e2e_p99"]["failed"] == w["queue_delay_p50"]["failed"] == by_class and w["e2e_p99"]["infinite"] and
               r["p99_latency_ns"] is None and w["verdict"] == "missed" and
               w["attainment"] <= (300 - by_class) / 300,
               f"{name} requests stay in every denominator", w)
        report(w["itl_p99"]["failed"] == by_class, f"{name} requests count in ITL, once each")


def check_flags():
    """Every flag does something, and in the direction that it promises."""
    base = ["--arrivals", "poisson", "--requests", "150", "--rate-rps", "14", *MODEL, "--policy",
            "chunked", "--prompt-tokens", "100:900", "--output-tokens", "20:120"]
    plain = sim_json("run", *base)

    def ttft(r): return r["window"]["ttft_p50"]["ns"]
    def tpot(r): return r["window"]["tpot_p50"]["ns"]
    same = (lambda a, b: a["mean_latency_ns"] != b["mean_latency_ns"])
    for more, holds in (
            (["--seed", "2"], same),
            (["--gpu", "a100"], lambda a, b: b["mean_latency_ns"] > a["mean_latency_ns"]),
            (["--weight-bits", "4"], lambda a, b: tpot(b) < tpot(a)),
            (["--kv-bits", "8"], lambda a, b: b["kv_mean_share"] < 0.7 * a["kv_mean_share"]),
            (["--draft-tokens", "4", "--acceptance", "0.8"], lambda a, b: tpot(b) < tpot(a)),
            (["--no-fusion"], lambda a, b: tpot(b) > tpot(a)),
            (["--kv-blocks", "100"], lambda a, b: b["window"]["queue_delay_p99"]["ns"] >
             a["window"]["queue_delay_p99"]["ns"] and b["kv_peak_share"] > a["kv_peak_share"]),
            (["--token-budget", "128"], lambda a, b: ttft(b) > ttft(a)),
            (["--max-running", "2"], lambda a, b: b["mean_batch"] <= 2 < a["mean_batch"]),
            (["--max-in-system", "3"], lambda a, b: b["shed_queue_full"] > 0),
            (["--servers", "3"], lambda a, b: b["mean_batch"] < a["mean_batch"]),
            (["--servers", "3", "--router", "central:1"], lambda a, b: b["mean_batch"] <= 1),
            (["--ttft-below-ms", "1"], lambda a, b: b["window"]["good"] == 0 and
             b["window"]["verdict"] == "missed" and a["window"]["verdict"] == "met"),
            (["--tpot-below-ms", "1"], lambda a, b: b["window"]["verdict"] == "missed"),
            (["--e2e-below-ms", "1"], lambda a, b: b["window"]["verdict"] == "missed"),
            (["--warm-up-s", "3"], lambda a, b: b["window"]["requests"] < 150 == b["n"])):
        args = [a for a in base]
        if more[0] == "--gpu":
            args[args.index("h100")] = more[1]
            more = []
        got = sim_json("run", *args, *more)
        report(holds(plain, got), f"it does what it says: {' '.join(more) or '--gpu a100'}", got)
    gamma = ["run", "--arrivals", "gamma", "--requests", "2000", "--rate-rps", "100", "--cv"]
    report(sim_json(*gamma, "3")["mean_wait_ns"] > sim_json(*gamma, "0.5")["mean_wait_ns"],
           "it does what it says: --cv")
    bursts = ["run", "--arrivals", "on-off", "--requests", "2000", "--rate-rps", "100", "--on-s", "1",
              "--off-s"]
    report(sim_json(*bursts, "3")["mean_wait_ns"] > sim_json(*bursts, "0.1")["mean_wait_ns"],
           "it does what it says: --off-s")
    costs = ["run", "--arrivals-ms", "0,0"]
    report(sim_json(*costs, "--setup-ms", "7", "--per-request-ms", "2")["mean_latency_ns"] ==
           (9 + 18) / 2 * 1e6, "it does what it says: --setup-ms and --per-request-ms")
    prefixes = ["run", "--trace", "p.jsonl", "--trace-format", "mooncake", *MODEL, "--policy",
                "continuous"]
    with open(os.path.join(work, "p.jsonl"), "w") as f:
        for i in range(20):
            f.write(json.dumps({"timestamp": 1000 * i, "input_length": 1024, "output_length": 5,
                                "hash_ids": [1, 2]}) + "\n")
    report(sim_json(*prefixes)["prefix_cached_tokens"] == 0 <
           sim_json(*prefixes, "--prefix-tokens", "5000")["prefix_cached_tokens"],
           "it does what it says: --prefix-tokens")
    stretched = sim_json(*prefixes, "--time-scale", "2")
    report(stretched["window"]["to_ns"] - 1 == 2 * 19 * 10**9, "it does what it says: --time-scale")


def check_higher_loads():
    """A trace that begins with its longest requests: the guess is too low, and the sweep goes on."""
    with open(os.path.join(work, "easier.csv"), "w") as f:
        f.write("arrived_at,num_prefill_tokens,num_decode_tokens\n")
        for i in range(6000):
            f.write(f"{i},{1500 if i < 2000 else 10},{60 if i < 2000 else 2}\n")
    tree = json.loads(sim("sweep", "--trace", "easier.csv", "--trace-format", "vidur", *MODEL, "--out",
                          "easier", "--json").stdout)
    p = tree["policies"][0]
    shares = [q["rate_rps"] / p["guessed_saturation_rps"] for q in p["points"]]
    report(max(shares) > 1.26 and (not p["points"][-1]["stable"] or len(shares) == 16) and
           p["points"][-2]["stable"], "loads beyond the guess while the highest is still served", shares)


def check_records():
    args = ["run", "--arrivals", "gamma", "--cv", "2", "--requests", "120", "--rate-rps", "9", *MODEL,
            "--policy", "chunked", "--max-output-tokens", "100", "--output-tokens", "1:110",
            "--fail-rate", "0.05", "--max-in-system", "18", "--kv-blocks", "150"]
    r = sim_json(*args, "--per-request", "--records", "log.jsonl")
    checked = subprocess.run([PROGRAM, "record", "check", "--json", "log.jsonl"], cwd=work,
                             stdout=subprocess.PIPE, text=True)
    report(checked.returncode in (0, 1) and checked.stdout.startswith("{"), "`record check` reads the log",
           checked.returncode)
    records = {q["request_id"]: q for q in json.loads(checked.stdout)["records"]}
    wrong = []
    for i, q in enumerate(r["requests"]):
        rec = records[f"sim-{i:06d}"]
        tpot = rec["tpot_ns"] if q["completion_ns"] is not None else None
        if (rec["queue_delay_ns"], rec["server_ttft_ns"], tpot, rec["e2e_ns"]) != \
                (q["wait_ns"], q["ttft_ns"], q["tpot_ns"], q["latency_ns"]):
            wrong.append(i)
        want = {"complete": "delivered", "truncated": "truncated", "shed": "rejected",
                "broken": "internal_error"}[q["class"]]
        if rec["completion_reason"] != want:
            wrong.append((i, rec["completion_reason"], want))
    classes = {q["class"] for q in r["requests"]}
    report(len(records) == 120 and classes == {"complete", "truncated", "shed", "broken"} and
           not wrong, "120 records of all four kinds have the run's intervals and classes",
           (len(records), classes, wrong[:5]))
    report(not os.path.exists(os.path.join(work, "log.jsonl.partial")), "no partial log is left")


def check_dollars():
    args = ["run", "--arrivals", "poisson", "--requests", "200", "--rate-rps", "5", *MODEL, "--policy",
            "continuous", "--servers", "2", "--router", "least-outstanding"]
    r = sim_json(*args, "--usd-per-gpu-hour", "3", "--reserve-fraction", "0.25")
    w, d = r["window"], r["dollars"]
    hours = (w["to_ns"] - w["from_ns"]) / 1e9 / 3600
    want = w["complete"] / (2 / (1 - 0.25) * hours * 3)
    report(abs(d["complete_responses_per_usd"] / want - 1) < 1e-12 and
           abs(d["provisioned_gpus"] - 8 / 3) < 1e-12, "responses per dollar with a reserve", d)
    report("dollars" not in sim_json(*args), "no price, no dollars")
    one = sim("run", "--arrivals-ms", "1,1", "--usd-per-gpu-hour", "3")
    report(one.returncode == 0 and "not computable: " in one.stdout, "not computable, and why",
           one.stdout)


def check_text():
    out = sim("run", "--arrivals", "closed", "--clients", "4", "--think-s", "0.5", "--requests", "60",
              *MODEL, "--policy", "continuous", "--warm-up-s", "2").stdout
    for words in ("Little's law holds", "first token - arrival", "admitted - arrival",
                  "forward passes/s", "output tokens/s", "during the warm-up", "verdict",
                  "nearest rank"):
        report(words in out, f"the text says '{words}'", out)


# ---- traces ------------------------------------------------------------------------------------

def check_traces():
    rows = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    rows += [f"2023-11-16 18:15:{i % 60:02d}.{i:07d},{100 + i},{10 + i}" for i in range(40)]
    with open(os.path.join(work, "t.csv"), "w") as f:
        f.write("\n".join(rows))
    rows.insert(8, "2023-11-16 18:15:46.1,many,4")
    with open(os.path.join(work, "bad.csv"), "w") as f:
        f.write("\n".join(rows))
    azure = ["--trace-format", "azure", *MODEL]
    r = sim_json("run", "--trace", "t.csv", "--policy", "continuous", *azure)
    report(r["trace"]["rows"] == 40 and r["trace"]["output_tokens"] == sum(range(10, 50)) and
           r["n"] == 40, "a trace is read whole", r["trace"])
    r = sim_json("run", "--trace", "t.csv", "--rate-rps", "4", *azure)
    report(abs(39 / ((r["window"]["to_ns"] - 1 - r["window"]["from_ns"]) / 1e9) - 4) < 1e-6,
           "--rate-rps stretches it to that load")
    for command in ("run", "sweep"):
        done = sim(command, "--trace", "bad.csv", *azure)
        report(done.returncode == 2 and "bad.csv:9: ContextTokens" in done.stderr,
               f"sim {command}: a bad row is named with file, line and column", done.stderr)
    r = sim_json("run", "--trace", "bad.csv", *azure, "--skip-bad-rows")
    report(r["trace"]["skipped_rows"] == 1 and r["n"] == 40, "--skip-bad-rows counts it")


def check_azure():
    name = "the Azure conversation hour: curve, knee and goodput per GPU for three policies"
    if not os.path.exists(AZURE):
        global count
        count += 1
        print(f"ok {count} - {name} # SKIP no shared test data")
        return
    began = time.monotonic()
    done = sim("sweep", "--trace", AZURE, "--trace-format", "azure", *MODEL, "--policies",
               "continuous,chunked,static:8", "--out", "azure", "--requests", "6000")
    took = time.monotonic() - began
    tree = load("azure/sweep.json")
    ok = done.returncode == 0 and all(
        p["knee"] and p["saturation"] and p["highest_within_limits"]["rate_per_gpu_rps"] > 0
        for p in tree["policies"])
    goodput = {p["policy"]: p["highest_within_limits"]["rate_per_gpu_rps"] for p in tree["policies"]}
    report(ok and goodput["chunked"] > goodput["static:8"] < goodput["continuous"], name,
           (done.stderr, goodput))
    print(f"# {took:.1f} s for its first 6,000 requests, goodput per GPU {goodput}", file=sys.stderr)


# ---- help, bad input, interruption ---------------------------------------------------------------

def check_help():
    for command in ("run", "sweep"):
        text = sim(command, "--help").stdout
        examples = re.findall(r"^example: build/bin/servelab (sim .*)$", text, re.M)
        report(len(examples) > 0, f"sim {command} --help has an example")
        for e in examples:
            os.makedirs(os.path.join(work, "build"), exist_ok=True)
            done = sim(*shlex.split(e)[1:])
            report(done.returncode == 0 and done.stderr == "", f"it runs: {e}", done.stderr)


BAD = [  # arguments, what the message must hold
    ("run --arrivals poisson --requests 5 --rate-rps -1", "--rate-rps"),
    ("run --arrivals poisson --requests 5 --rate-rps inf", "--rate-rps"),
    ("run --arrivals poisson --requests 5 --rate-rps nan", "--rate-rps"),
    ("run --arrivals poisson --requests 5", "--rate-rps: is missing"),
    ("run --arrivals poisson --requests 0 --rate-rps 1", "--requests"),
    ("run --arrivals poisson --rate-rps 1", "--requests: is missing"),
    ("run --arrivals possion --rate-rps 1 --requests 5", "'possion' isn't a kind of arrivals"),
    ("run --arrivals poisson --rate-rps 1 --requests 5 --cv 2", "--cv"),
    ("run --arrivals gamma --rate-rps 1 --requests 5 --cv -2", "--cv"),
    ("run --arrivals closed --requests 5", "--clients: is missing"),
    ("run", "say when requests arrive"),
    ("run --arrivals-ms 1 --policy shortest-frist", "did you mean 'shortest-first'"),
    ("run --arrivals-ms 1 --model lama-2-7b --gpu h100", "did you mean 'llama-2-7b'"),
    ("run --arrivals-ms 1 --model llama-2-7b --gpu h10", "did you mean 'h100'"),
    ("run --arrivals-ms 1 --model llama-2-7b", "--model needs --gpu"),
    ("run --arrivals-ms 1 --servers 2 --router round", "--router"),
    ("run --arrivals-ms 1 --router random", "--router needs --servers"),
    ("run --arrivals-ms 1 --arrivals poisson", "--arrivals-ms and --arrivals exclude each other"),
    ("run --arrivals-ms 1 --model llama-2-7b --gpu h100 --setup-ms 1", "--model and --setup-ms"),
    ("run --arrivals-ms 1 --trace x --trace-format azure", "--trace and --arrivals-ms"),
    ("run --trace x", "--trace needs --trace-format"),
    ("run --trace x --trace-format csv", "'csv' isn't a known trace format"),
    ("run --trace nowhere.csv --trace-format azure", "nowhere.csv"),
    ("run --arrivals-ms 1 --reserve-fraction 0.5", "--reserve-fraction needs --usd-per-gpu-hour"),
    ("run --arrivals-ms 1 --usd-per-gpu-hour 1 --reserve-fraction 1", "--reserve-fraction"),
    ("run --arrivals-ms 1 --ttft-below-ms 0", "--ttft-below-ms"),
    ("run --arrivals-ms 1 --fail-rate 2", "--fail-rate"),
    ("run --arrivals-ms 1 --warm-up-s 5", "--warm-up-s"),
    ("run --arrivals-ms 1 --records /nonexistent/x", "--records"),
    ("run --arrivals-ms 1 --prompt-tokens 5:2", "--prompt-tokens"),
    ("run --arrivals-ms 1 --weight-bits 7 --model llama-2-7b --gpu h100", "7"),
    ("run --arrivals-ms 1 --model llama-2-7b --gpu h100 --draft-tokens 3", "--acceptance"),
    ("run --arrivals-ms 1 --rates 1,2", "--rates is a flag of `sim sweep`"),
    ("run --arrivals-ms 1 --policy=", "--policy takes a text that is not empty"),
    ("run --arrivals-ms 1 more", "'more' is one argument too many"),
    ("sweep --arrivals poisson --policy single", "--policy is a flag of `sim run`"),
    ("sweep --arrivals poisson --rate-rps 5", "--rate-rps is a flag of `sim run`"),
    ("sweep --arrivals closed", "no offered load"),
    ("sweep --arrivals poisson --rates 5:1:3", "--rates"),
    ("sweep --arrivals poisson --rates 1:5:1", "--rates"),
    ("sweep --arrivals poisson --rates 1,nan", "--rates"),
    ("sweep --arrivals poisson --rates 0,1", "--rates"),
    ("sweep --arrivals poisson --rates 2,1", "--rates"),
    ("sweep --arrivals poisson --rates 1,2,", "--rates"),
    ("sweep --arrivals poisson --policies single,singel", "did you mean 'single'"),
    ("sweep --arrivals poisson --policies single,single", "is in the list twice"),
    ("sweep --arrivals poisson --policies single,", "--policies"),
    ("sweep --arrivals poisson --policies a,b,c,d,e,f,g", "at most 6"),
    ("sweep --arrivals poisson --jobs 0", "--jobs"),
    ("sweep --arrivals poisson --out /proc/nowhere", "--out"),
    ("sweep --arrivals poisson --out t.csv", "--out: t.csv is a file"),
    ("swep", "the nearest one is 'sim sweep'"),
]


def check_bad_input():
    for args, words in BAD:
        done = sim(*args.split())
        report(done.returncode == 2 and words in done.stderr and done.stdout == "",
               f"refused: sim {args}", f"exit status {done.returncode}: {done.stderr}")
    done = sim("run", "--arrivals-ms", "1", "--policy", "singel", "--json")
    report(done.returncode == 2 and json.loads(done.stdout)["error"]["field"] == "--policy",
           "with --json the error is JSON too", done.stdout)


def begin(*args, **more):
    return subprocess.Popen([PROGRAM, "sim", *args], cwd=work, stdout=subprocess.DEVNULL, **more)


def wait_until(p, holds):
    """For a state that lasts: a file that stays, a child that runs until p is interrupted."""
    while p.poll() is None and not holds():
        time.sleep(0.01)


def has_child(pid):
    for status in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(status) as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                    return True
        except (OSError, IndexError):
            continue  # it has ended
    return False


def read_terminal(main, until=None):
    """What the terminal shows until a pattern matches, or until its last writer closes it."""
    shown = b""
    while not until or not re.search(until, shown):
        try:
            piece = os.read(main, 4096)
        except OSError:
            piece = b""
        if not piece:
            break
        shown += piece
    return shown


def interrupted_sweep(*args):
    """(exit status, stderr, seen on a terminal) of a sweep that gets SIGINT after its first run, or,
    without pseudo-terminals, when its first run has begun."""
    try:
        main, side = pty.openpty()
    except OSError:
        p = begin("sweep", *args, stderr=subprocess.PIPE)
        wait_until(p, lambda: has_child(p.pid))
        p.send_signal(signal.SIGINT)
        text = p.communicate()[1].decode()
        return p.returncode, text, False
    p = begin("sweep", *args, stderr=side)
    os.close(side)
    shown = read_terminal(main, rb"\] [1-9][0-9]* of ")
    p.send_signal(signal.SIGINT)
    shown += read_terminal(main)
    os.close(main)
    return p.wait(), shown.decode(), True


def check_interrupted():
    global count
    rates = ["--rates", "1,2,3,4,400,401,402,403,404,405,406,407,408,409"]
    status, text, terminal = interrupted_sweep(
        "--arrivals", "poisson", "--requests", "3000000", "--policies", "single,continuous",
        "--jobs", "2", "--out", "cut", *rates)
    tree = load("cut/sweep.json")
    report(status == 130 and tree["complete"] is False and "not complete" in text,
           "interrupted: exit status 130, and the JSON says that it isn't complete", (status, text))
    points = [q for p in tree["policies"] for q in p["points"]]
    with open(os.path.join(work, "cut/curve.svg")) as f:
        svg = f.read()
    report(all(q["requests"] == 3000000 for q in points) and len(points) >= terminal and
           "interrupted: not all points" in svg, "only whole points are in it", len(points))
    name = "a terminal shows how many runs are done"
    if terminal:
        report("[" in text and " of 28" in text, name, text)
    else:
        count += 1
        print(f"ok {count} - {name} # SKIP no pseudo-terminals here")
    partial = os.path.join(work, "cut.jsonl.partial")
    p = begin("run", "--arrivals", "poisson", "--rate-rps", "5", "--requests", "200000", *MODEL,
              "--policy", "continuous", "--records", "cut.jsonl", stderr=subprocess.DEVNULL)
    wait_until(p, lambda: os.path.exists(partial) and os.path.getsize(partial) > 0)
    p.send_signal(signal.SIGINT)
    report(p.wait() == -signal.SIGINT and not os.path.exists(os.path.join(work, "cut.jsonl")),
           "an interrupted run leaves no log under the final name", p.returncode)


for check in (check_run_keys, check_curve, check_fleet, check_nothing_complete, check_denominators, check_flags, check_higher_loads,
              check_records,
              check_dollars, check_text, check_traces, check_azure, check_help, check_bad_input,
              check_interrupted):
    check()
subprocess.run(["rm", "-rf", work])
print(f"1..{count}")
sys.exit(failed > 0)
