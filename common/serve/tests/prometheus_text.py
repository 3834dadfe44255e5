"""prometheus_text.py: a strict reader of Prometheus text (format 0.0.4), and what a log of records must give. Standard
library only; values are exact."""
import re
from decimal import Decimal

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})\{{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\}} (-?[0-9.]+(?:e[-+]?[0-9]+)?)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')


def unescape(value):
    return re.sub(r'\\(["\\n])', lambda m: {"n": "\n"}.get(m[1], m[1]), value)


def read(text):
    """{family: (type, {(sample name, labels without le, le): Decimal})}; raises at whatever breaks a rule."""
    assert text.endswith("\n") and "\n\n" not in text, "every line ends with one line feed"
    families, family = {}, None
    lines = text[:-1].split("\n")
    for i, line in enumerate(lines):
        if line.startswith("# HELP "):
            _, _, family, about = line.split(" ", 3)
            assert re.fullmatch(NAME, family) and about and family not in families, line
            kind = lines[i + 1].split(" ")
            assert kind[:3] == ["#", "TYPE", family] and kind[3] in ("counter", "gauge", "histogram"), lines[i + 1]
            families[family] = (kind[3], {})
        elif not line.startswith("#"):
            m = SAMPLE.fullmatch(line)
            assert m, f"not a sample: {line!r}"
            labels = {k: unescape(v) for k, v in LABEL.findall(m[2])}
            bound = labels.pop("le", None)
            kind, samples = families[family]
            suffix = m[1].removeprefix(family)
            assert suffix in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",)), line
            assert (suffix == "_bucket") == (bound is not None) and (kind != "counter" or family.endswith("_total")), line
            key = (m[1], tuple(sorted(labels.items())), bound)
            assert key not in samples, f"twice: {line}"
            samples[key] = Decimal(m[3])
    for name, (kind, samples) in families.items():
        assert samples, f"{name} has no sample"
        if kind != "histogram":
            continue
        buckets = [(Decimal("Infinity" if key[2] == "+Inf" else key[2]), n) for key, n in samples.items() if key[2]]
        assert buckets == sorted(buckets), f"{name}: {buckets}"
        assert buckets[-1] == (Decimal("Infinity"), next(n for k, n in samples.items() if k[0].endswith("_count"))), name
    return families


# ---- what a log must give --------------------------------------------------------------------------------------------

TTFT = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
        160.0, 640.0, 2560.0)
ITL = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
REQUEST = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
           1920.0, 7680.0)
BOUNDS = {"vllm:time_to_first_token_seconds": TTFT, "vllm:inter_token_latency_seconds": ITL,
          "vllm:time_per_output_token_seconds": ITL, "vllm:request_time_per_output_token_seconds": ITL,
          "vllm:e2e_request_latency_seconds": REQUEST, "vllm:request_queue_time_seconds": REQUEST}


SPECULATION = {"spec_decode_num_drafts": "draft_steps", "spec_decode_num_draft_tokens": "draft_tokens",
               "spec_decode_num_accepted_tokens": "accepted_draft_tokens"}


def of_log(records, labels):
    """The counters and histograms that metrics.h promises for these records: as `read` gives them, without the gauges."""
    seen = {name: [] for name in BOUNDS}
    ends = dict.fromkeys(("stop", "length", "abort", "error"), 0)
    sums = dict.fromkeys(("prefix_cache_queries", "prefix_cache_hits", "num_preemptions", "prompt_tokens",
                          "generation_tokens"), 0)
    refused = full = 0
    for r in records:
        at = {}
        for e in r["events"]:
            if e["event"] != "token_sent" or e["tokens"]:
                at.setdefault(e["event"], []).append(e["t_ns"])
        work, out = r["workload"], r["outcome"]

        def between(name, a, b):
            if a in at and b in at:
                seen[name].append(at[b][0] - at[a][0])

        sent = at.get("token_sent", [])
        gaps = [b - a for a, b in zip(sent, sent[1:])]
        between("vllm:time_to_first_token_seconds", "request_accepted", "first_token")
        between("vllm:request_queue_time_seconds", "tokenization_finished", "request_admitted")
        seen["vllm:inter_token_latency_seconds"] += gaps
        seen["vllm:time_per_output_token_seconds"] += gaps
        sums["num_preemptions"] += len(at.get("request_preempted", []))
        sums["generation_tokens"] += work.get("output_tokens") or 0
        if "first_token" in at or out["finish_reason"]:
            sums["prompt_tokens"] += work["prompt_tokens"]
        if work.get("cached_prompt_tokens") is not None:
            sums["prefix_cache_queries"] += work["prompt_tokens"]
            sums["prefix_cache_hits"] += work["cached_prompt_tokens"]
        for name, member in SPECULATION.items():
            if member in work:
                sums[name] = sums.get(name, 0) + work[member]
        if "request_rejected" in at:
            refused += 1
            full += out["http_status"] == 429
        elif "request_cancelled" in at:
            ends["abort"] += 1
        elif "request_failed" in at or out["error"]:
            ends["error"] += 1
        else:
            ends["length" if out["finish_reason"] == "length" else "stop"] += 1
            between("vllm:e2e_request_latency_seconds", "request_accepted", "response_finished")
            n = (work.get("output_tokens") or 0) - 1
            if gaps and n >= 1:
                seen["vllm:request_time_per_output_token_seconds"].append((2 * (sent[-1] - sent[0]) + n) // (2 * n))
    key = tuple(sorted(labels.items()))

    def more(name, value):
        return tuple(sorted({**labels, name: value}.items()))

    want = {f"vllm:{name}_total": {(f"vllm:{name}_total", key, None): n} for name, n in sums.items()}
    want["vllm:request_success_total"] = {("vllm:request_success_total", more("finished_reason", k), None): n
                                          for k, n in ends.items()}
    want["vllm:admission_rejections_total"] = {
        ("vllm:admission_rejections_total", more("reason", "max_num_queued_reqs"), None): full}
    want["servelab:requests_refused_total"] = {("servelab:requests_refused_total", key, None): refused}
    for name, values in seen.items():
        limit = {str(b): int(Decimal(str(b)) * 10**9) for b in BOUNDS[name]}
        want[name] = {(name + "_bucket", key, le): sum(v <= ns for v in values) for le, ns in limit.items()}
        want[name][name + "_bucket", key, "+Inf"] = want[name][name + "_count", key, None] = len(values)
        want[name][name + "_sum", key, None] = Decimal(sum(values)) / 10**9
    return want
