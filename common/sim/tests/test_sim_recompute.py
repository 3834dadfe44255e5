"""test_sim_recompute.py: every figure of `servelab sim run`, computed again from its request records
alone, in Python, from the definitions in point.h, run.h and percentile.h. Nothing of the C code that
measures takes part: only the events' times. Then the printed text against the same figures.

A record says when a request came, was admitted, was preempted, sent each token, ended. Where every
sequence of a forward pass sends a token (no prompt is cut into chunks, one server), that is enough to
find each pass: it ends where tokens are sent, and begins where the one before ended or, when nothing
ran, at the next admission. From the passes follow IPS, busy time, batch and KV blocks."""
import bisect, json, math, os, re, subprocess, sys, tempfile
from fractions import Fraction

PROGRAM = os.path.abspath(os.environ.get("SERVELAB", "build/bin/servelab"))
BLOCK_TOKENS, SAMPLES, S, MS = 16, 32, 10**9, 10**6
MODEL = ["--model", "llama-2-7b", "--gpu", "h100"]
work = tempfile.TemporaryDirectory(prefix="servelab-recompute-")
count = failed = 0


def report(ok, name, why=""):
    global count, failed
    count += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}" + ("" if ok else f": {why}"))


# ---- the records -------------------------------------------------------------------------------

class Request:
    def __init__(self, record):
        self.id = int(record["request_id"].split("-")[1])
        self.prompt = record["workload"]["prompt_tokens"]
        self.output = record["workload"]["output_tokens"]
        at = {}
        for event in record["events"]:
            at.setdefault(event["event"], []).append(event["t_ns"])
        one = lambda name: at[name][0] if name in at else None
        self.arrival, self.admitted = one("request_accepted"), one("request_admitted")
        self.first, self.tokens = one("first_token"), at.get("token_sent", [])
        self.admissions = sorted(at.get("request_admitted", []) + at.get("request_resumed", []))
        self.preempted = at.get("request_preempted", [])
        outcome = record["outcome"]
        ends = [at[k][0] for k in ("response_finished", "request_failed", "request_rejected") if k in at]
        self.end, self.done = ends[0], outcome["delivered"]
        assert len(ends) == 1
        self.why = outcome["error"]
        self.kind = ("shed" if "request_rejected" in at else "broken" if "request_failed" in at else
                     "truncated" if outcome["finish_reason"] == "length" else "complete")
        self.wait = None if self.admitted is None else self.admitted - self.arrival
        self.ttft = None if self.first is None else self.first - self.arrival
        self.e2e = self.end - self.arrival if self.done else None
        self.tpot = self.itl = None
        if self.done and self.output > 1:
            # nearest, a half away from 0
            gap, steps = self.end - self.first, self.output - 1
            self.tpot = (2 * gap + steps) // (2 * steps)
        if self.kind == "complete":
            self.itl = [b - a for a, b in zip(self.tokens, self.tokens[1:])]


def nearest_rank(values, infinite, per_cent):
    n = len(values) + infinite
    out = {"ns": None, "infinite": False, "n": n, "failed": infinite,
           "few": n * (100 - per_cent) < 100}
    if n:
        rank = -(-per_cent * n // 100)
        out["infinite"] = rank > len(values)
        if not out["infinite"]:
            out["ns"] = sorted(values)[rank - 1]
    return out


def mean(values):
    return Fraction(sum(values), len(values)) if values else None


# ---- the window --------------------------------------------------------------------------------

def stable(requests, lo, hi):
    mid = lo + (hi - lo) // 2
    arrived = sum(mid <= r.arrival < hi for r in requests)
    ended = sum(mid <= r.end < hi for r in requests)
    if 100 * ended >= 98 * arrived:
        return True
    ys = []
    for i in range(SAMPLES):
        t = mid + (hi - mid) * i // SAMPLES
        ys.append(sum(r.arrival <= t for r in requests) - sum(r.end <= t for r in requests))
    mx, my = Fraction(SAMPLES - 1, 2), mean(ys)
    sxx = sum((x - mx) ** 2 for x in range(SAMPLES))
    sxy = sum((x - mx) * (y - my) for x, y in enumerate(ys))
    syy = sum((y - my) ** 2 for y in ys)
    slope = sxy / sxx
    return slope <= 0 or slope ** 2 <= 9 * (syy - sxy ** 2 / sxx) / ((SAMPLES - 2) * sxx)


def window(requests, lo, hi, limits):
    seen = [r for r in requests if lo <= r.arrival < hi]
    good = [r for r in seen if r.kind == "complete"]
    lost, span = len(seen) - len(good), Fraction(hi - lo, S)
    within = lambda r: all(bound is None or (value is None and absent_is_fine) or
                           (value is not None and value < bound)
                           for value, bound, absent_is_fine in
                           ((r.ttft, limits["ttft"], False), (r.tpot, limits["tpot"], True),
                            (r.e2e, limits["e2e"], True)))
    n_good = sum(map(within, good))
    out = {"requests": len(seen), "good": n_good,
           "offered_rps": len(seen) / span, "good_rps": n_good / span,
           "throughput_rps": sum(r.kind == "complete" and lo <= r.end < hi for r in requests) / span,
           "attainment": Fraction(n_good, len(seen)) if seen else None,
           "mean_latency_ns": mean([r.e2e for r in good]),
           "mean_in_system": Fraction(sum(max(0, min(r.end, hi) - max(r.arrival, lo))
                                          for r in requests), hi - lo)}
    for kind in ("complete", "shed", "truncated", "broken"):
        out[kind] = sum(r.kind == kind for r in seen)
    for name, of in (("queue_delay", "wait"), ("ttft", "ttft"), ("tpot", "tpot"), ("e2e", "e2e")):
        values = [getattr(r, of) for r in good if getattr(r, of) is not None]
        for p in (50, 99):
            out[f"{name}_p{p}"] = nearest_rank(values, lost, p)
    gaps = [g for r in good for g in r.itl]
    out["itl_p50"], out["itl_p99"] = nearest_rank(gaps, lost, 50), nearest_rank(gaps, lost, 99)
    out["stable"] = stable(requests, lo, hi)
    p99 = {k: out[f"{k}_p99"] for k in ("ttft", "tpot", "e2e")}
    missed = not out["stable"] or any(
        p["infinite"] or (p["ns"] is not None and limits[k] is not None and p["ns"] >= limits[k])
        for k, p in p99.items())
    out["verdict"] = "missed" if missed else "not computable" if p99["ttft"]["n"] == 0 else "met"
    return out, mean([r.wait for r in good])


# ---- the passes --------------------------------------------------------------------------------

def passes(requests):
    """[(start, end, {request: which of its tokens it sends})], in order."""
    sent = {}
    for r in requests:
        for k, t in enumerate(r.tokens):
            sent.setdefault(t, {})[r] = k
    admissions = sorted(t for r in requests for t in r.admissions)
    # who is in the machine just after t: +1 at an admission, -1 at the end or a preemption
    steps = sorted([(t, 1) for t in admissions] +
                   [(t, -1) for r in requests for t in r.preempted] +
                   [(r.end, -1) for r in requests if r.admissions and
                    len(r.admissions) > len(r.preempted)])
    out, before, inside, k = [], -1, 0, 0
    for t in sorted(sent):
        while k < len(steps) and steps[k][0] <= before:
            inside += steps[k][1]
            k += 1
        later = bisect.bisect_right(admissions, before)
        out.append((before if inside > 0 else admissions[later], t, sent[t]))
        before = t
    return out


def cache(requests, all_passes):
    """Block time and peak. A sequence that sends its token k has the keys of its prompt and of the k
    tokens before in blocks from the start of that pass; it keeps them until it ends or is preempted."""
    changes = []
    for r in requests:
        held = 0
        losses = sorted(r.preempted)
        starts = r.starts
        for k, start in enumerate(starts):
            while losses and losses[0] <= start:
                changes.append((losses.pop(0), -held))
                held = 0
            need = -(-(r.prompt + k) // BLOCK_TOKENS)
            changes.append((start, need - held))
            held = need
        changes.append((losses[0] if losses else r.end, -held))
    changes.sort()
    total = peak = area = 0
    at = changes[0][0] if changes else 0
    for t, more in changes:  # what is given back at an instant comes before what is taken
        area += total * (t - at)
        total, at = total + more, t
        peak = max(peak, total)
    assert total == 0
    return area, peak


def machine(requests, kv_blocks):
    every = passes(requests)
    start_of = {end: start for start, end, _ in every}
    for r in requests:
        r.starts = [start_of[t] for t in r.tokens]
    busy = sum(end - start for start, end, _ in every)
    span = max(r.end for r in requests) - requests[0].arrival
    area, peak = cache(requests, every)
    return {"forward_passes": len(every), "busy_share": Fraction(busy, span),
            "mean_batch": Fraction(sum((e - s) * len(who) for s, e, who in every), busy),
            "kv_peak_share": Fraction(peak, kv_blocks),
            "kv_mean_share": Fraction(area, span * kv_blocks)}


def cached_tokens(requests, hashes, unit):
    """What reuse without a limit on the store finds: whole units from the front whose prompt had sent
    its first token by then; the last prompt token is always computed."""
    known = sorted((r.first, h) for r in requests if r.first is not None for h in hashes[r.id])
    total = 0
    for r in requests:
        for t in r.admissions:
            there = {h for first, h in known if first <= t}
            n = 0
            while n < len(hashes[r.id]) and hashes[r.id][n] in there:
                n += 1
            total += min(n * unit, r.prompt - 1)
    return total


# ---- the whole run -----------------------------------------------------------------------------

def recompute(requests, given):
    """given: what the flags say, not what the run says."""
    first, last = requests[0].arrival, max(r.arrival for r in requests)
    done = [r for r in requests if r.done]
    interval = max([r.end for r in done], default=first) - first
    per_s = lambda n: Fraction(n * S, interval) if interval else None
    span = max(r.end for r in requests) - first
    lo, hi = first + given.get("warm_up_ns", 0), last + 1
    w, mean_wait = window(requests, lo, hi, given["limits"])
    complete = sum(r.kind == "complete" for r in requests)
    out = {"n": len(requests), "mean_latency_ns": w["mean_latency_ns"], "mean_wait_ns": mean_wait,
           "p50_latency_ns": w["e2e_p50"]["ns"], "p99_latency_ns": w["e2e_p99"]["ns"],
           "interval_ns": interval, "throughput_rps": per_s(complete), "qps": per_s(complete),
           "output_tps": per_s(sum(r.output for r in done)),
           "total_tps": per_s(sum(r.output + r.prompt for r in done)),
           "preemptions": sum(len(r.preempted) for r in requests), "window": w,
           "littles_law": {"holds": True, "arrivals_per_s": Fraction(len(requests) * S, span),
                           "mean_in_system": Fraction(sum(r.end - r.arrival for r in requests), span),
                           "mean_time_in_system_ns": mean([r.end - r.arrival for r in requests])}}
    w["from_ns"], w["to_ns"] = lo, hi
    shed = [r.why for r in requests if r.kind == "shed"]
    out["shed_queue_full"] = sum("full" in why for why in shed)
    out["shed_too_large"] = sum("cache" in why for why in shed)
    out["shed_by_policy"] = len(shed) - out["shed_queue_full"] - out["shed_too_large"]
    if given.get("passes"):
        out.update(machine(requests, given.get("kv_blocks", 1 << 28)))
        out["ips"] = per_s(out["forward_passes"])
    if "hashes" in given:
        out["prefix_cached_tokens"] = cached_tokens(requests, given["hashes"], 512)
    return out


def differences(want, got, path=""):
    for key, value in want.items():
        at = f"{path}{key}"
        if key not in got:
            yield f"{at} is missing"
        elif isinstance(value, dict):
            yield from differences(value, got[key], at + ".")
        elif isinstance(value, Fraction):
            if got[key] is None or abs(got[key] - value) > abs(value) * Fraction(1, 10**11):
                yield f"{at}: {got[key]}, recomputed {float(value)}"
        elif got[key] != value:
            yield f"{at}: {got[key]}, recomputed {value}"


def unnoticed(want, got, path=()):
    """Keys of figures that could be a thousandth, or one, too high without a difference."""
    for key, value in want.items():
        if isinstance(value, dict):
            yield from unnoticed(value, got[key], path + (key,))
        elif isinstance(value, (int, Fraction)) and not isinstance(value, bool):
            changed = {key: got[key] * 1.001 + (value == 0 or isinstance(value, int))}
            if not list(differences({key: value}, changed)):
                yield ".".join(path + (key,))


def request_differences(requests, listed):
    if len(requests) != len(listed):
        yield f"{len(listed)} requests listed, {len(requests)} records"
    for r, q in zip(requests, listed):
        want = {"arrival_ns": r.arrival, "start_ns": r.admitted, "wait_ns": r.wait, "ttft_ns": r.ttft,
                "completion_ns": r.end if r.done else None, "latency_ns": r.e2e, "tpot_ns": r.tpot,
                "end_ns": r.end, "output_tokens": r.output, "class": r.kind}
        if q != want:
            yield f"request {r.id}: {q}, its record says {want}"


# ---- the text ----------------------------------------------------------------------------------

def numbers(text):
    """{label: the numbers right behind it}, of the indented lines."""
    out = {}
    for line in text.splitlines():
        m = re.match(r"  (\S.*?)  +(\S.*)$", line)
        if m:
            out.setdefault(m.group(1), []).append(m.group(2).split())
    return out


def shown(word):
    return {"infinite": math.inf, "absent": None, "-": None}.get(word.rstrip("*"), word.rstrip("*"))


def agrees(word, value, scale=1):
    word = shown(word)
    if word is None or value is None:
        return word is None and value is None
    if word == math.inf or value == math.inf:
        return word == value
    digits = re.sub(r"[^0-9.]", "", word)
    decimals = len(digits.split(".")[1]) if "." in digits else 0
    exact = float(value) / scale
    return "e" not in word and abs(float(word) - exact) <= max(0.501 * 10**-decimals,
                                                              abs(exact) * 1e-6 * ("." in word))


def text_differences(text, want):
    w, lines = want["window"], numbers(text)
    ns = lambda p: math.inf if p["infinite"] else p["ns"]
    check = [("QPS", 0, want["qps"], 1), ("TPS", 0, want["output_tps"], 1),
             ("offered", 0, w["offered_rps"], 1), ("attainment", 0, w["attainment"], Fraction(1, 100)),
             ("preemptions", 0, want["preemptions"], 1)]
    check += [(kind, 0, w[kind], 1) for kind in ("complete", "shed", "truncated", "broken")]
    for label, name in (("queue delay", "queue_delay"), ("TTFT", "ttft"), ("TPOT", "tpot"),
                        ("ITL", "itl"), ("end to end", "e2e")):
        check += [(label, 0, ns(w[f"{name}_p50"]), MS), (label, 1, ns(w[f"{name}_p99"]), MS)]
    if "busy_share" in want:
        check += [("IPS", 0, want["ips"], 1), ("busy", 0, want["busy_share"], Fraction(1, 100)),
                  ("batch", 0, want["mean_batch"], 1)]
        check += [("KV cache, mean", 0, want["kv_mean_share"], Fraction(1, 100)),
                  ("KV cache, peak", 0, want["kv_peak_share"], Fraction(1, 100))] if \
            "KV cache, mean" in lines else []
    for label, column, value, scale in check:
        if label not in lines:
            if label not in ("attainment", "offered"):
                yield f"no line {label}"
        elif not agrees(lines[label][0][column], value, float(scale)):
            yield f"{label}: {lines[label][0][column]}, recomputed {value} / {scale}"
    for name, value in (("mean latency", want["mean_latency_ns"]), ("mean wait", want["mean_wait_ns"])):
        word = re.search(name + r" (\S+)", text).group(1)
        if value is not None and not agrees(word, value, MS):
            yield f"{name}: {word}, recomputed {float(value) / MS}"


# ---- runs --------------------------------------------------------------------------------------

def check(name, flags, **given):
    limits = given.setdefault("limits", {"ttft": None, "tpot": None, "e2e": None})
    path = os.path.join(work.name, "log.jsonl")
    run = lambda *more: subprocess.run([PROGRAM, "sim", "run", *flags, *more], text=True,
                                       capture_output=True)
    done = run("--json", "--per-request", "--records", path)
    if done.returncode:
        report(False, name, done.stderr)
        return
    got = json.loads(done.stdout)
    with open(path) as f:
        requests = sorted((Request(json.loads(line)) for line in f), key=lambda r: r.id)
    want = recompute(requests, given)
    wrong = list(request_differences(requests, got["requests"]))[:3]
    report(not wrong, f"{name}: each request is as its record has it", "; ".join(wrong))
    wrong = list(differences(want, got))
    report(not wrong, f"{name}: every figure of the JSON", "; ".join(wrong))
    wrong = list(text_differences(run().stdout, want))
    report(not wrong, f"{name}: every figure of the text", "; ".join(wrong))
    blind = list(unnoticed(want, got))
    report(not blind, f"{name}: a figure changed by a thousandth would be noticed", blind)
    for needed in given.get("holds", ()):
        kinds = {**{k: want["window"][k] for k in ("shed", "truncated", "broken")},
                 **{k: want[k] for k in want if isinstance(want[k], int)}}
        report(kinds[needed] > 0, f"{name}: it does have {needed}", kinds)


def mooncake():
    """Conversations that grow turn by turn: (rows, hashes of each request)."""
    rows, hashes, state = [], [], 12345
    for i in range(60):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        talk, turn = (state >> 33) % 5, (state >> 40) % 4
        tokens = 512 * turn + 100 + (state >> 50) % 400
        ids = [talk * 10 + k for k in range(turn)] + [1000 + i]
        rows.append(json.dumps({"timestamp": i * 90, "input_length": int(tokens),
                                "output_length": 1 + int((state >> 20) % 40), "hash_ids": ids}))
        hashes.append(ids)
    path = os.path.join(work.name, "mooncake.jsonl")
    with open(path, "w") as f:
        f.write("\n".join(rows))
    return path, hashes


MLPERF = {"ttft": 2000 * MS, "tpot": 100 * MS, "e2e": None}
poisson = lambda rate, n, *more: ["--arrivals", "poisson", "--rate-rps", str(rate), "--requests",
                                  str(n), *more]
check("by hand", ["--arrivals-ms", "0,1,2,3", "--policy", "wait-for-n:4"], passes=True)
check("groups, failures, a full queue, a warm-up",
      poisson(400, 600, "--policy", "static:4", "--fail-rate", "0.03", "--max-in-system", "12",
              "--warm-up-s", "0.4", "--e2e-below-ms", "30"),
      passes=True, warm_up_ns=400 * MS, limits={"ttft": None, "tpot": None, "e2e": 30 * MS},
      holds=("shed", "broken", "shed_queue_full"))
check("a small cache",
      poisson(8, 250, *MODEL, "--policy", "continuous", "--prompt-tokens", "50:1500",
              "--output-tokens", "1:200", "--max-output-tokens", "150", "--kv-blocks", "95",
              "--fail-rate", "0.04", "--warm-up-s", "3", "--seed", "7"),
      passes=True, kv_blocks=95, warm_up_ns=3 * S, limits=MLPERF,
      holds=("shed", "truncated", "broken", "preemptions", "shed_too_large"))
check("shortest first, long answers",
      poisson(30, 300, *MODEL, "--policy", "shortest-first", "--prompt-tokens", "20:300",
              "--output-tokens", "100:400", "--kv-blocks", "300", "--ttft-below-ms", "500"),
      passes=True, kv_blocks=300, limits={"ttft": 500 * MS, "tpot": None, "e2e": None})
check("a fleet", poisson(60, 400, *MODEL, "--policy", "chunked", "--servers", "3", "--router",
                         "least-outstanding", "--max-output-tokens", "120", "--fail-rate", "0.02",
                         "--kv-blocks", "400", "--prompt-tokens", "100:3000"),
      limits=MLPERF, holds=("truncated", "broken"))
check("a closed loop", ["--arrivals", "closed", "--clients", "7", "--think-s", "0.02", "--requests",
                        "400", "--policy", "wait-for-time:5,4"], passes=True)
trace, hashes = mooncake()
check("prefix reuse", ["--trace", trace, "--trace-format", "mooncake", *MODEL, "--policy",
                       "continuous", "--prefix-tokens", "1000000000"],
      hashes=hashes, limits=MLPERF, passes=True, kv_blocks=7609, holds=("prefix_cached_tokens",))
print(f"1..{count}")
sys.exit(failed > 0)
