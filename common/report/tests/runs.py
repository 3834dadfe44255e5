"""runs.py: makes run folders and logs for the tests of `servelab report`, and computes what a report must say of them.

The figures here are computed from the definitions in objective/report.h, not with any code of ours.
"""
import json
import math
import os

MS, S = 10**6, 10**9
CLIENT = {"clock": "browser", "source": "client", "clock_api": "CLOCK_MONOTONIC"}
SERVER = {"clock": "server", "source": "server_log", "clock_api": "CLOCK_MONOTONIC"}


def record(request_id, sent, ttft, e2e, *, attempt=1, lag=0, outcome="delivered", verdict="passed", check="key-recall/1",
           prompt_tokens=128, output_tokens=64, server_offset=5 * S, paced=None, client=True, joules=None):
    """One attempt; times in ns. `outcome`: delivered, rejected, internal_error or truncated."""
    at = sent + lag
    done = outcome in ("delivered", "truncated")
    events = [{"event": "request_submitted", "t_ns": at, "scheduled_t_ns": sent, **CLIENT}] if client else []
    server = at + server_offset
    events.append({"event": "request_accepted", "t_ns": server, **SERVER})
    if done:
        events += [{"event": "request_admitted", "t_ns": server + ttft // 4, **SERVER},
                   {"event": "first_token", "t_ns": server + ttft // 2, **SERVER},
                   {"event": "response_finished", "t_ns": server + e2e, **SERVER}]
        if client:
            events += [{"event": "first_byte_received", "t_ns": at + ttft, **CLIENT},
                       {"event": "final_byte_received", "t_ns": at + e2e, **CLIENT}]
    elif outcome == "rejected":
        events.append({"event": "request_rejected", "t_ns": server + e2e, **SERVER})
    else:
        events.append({"event": "request_failed", "t_ns": server + e2e, **SERVER})
    status = {"rejected": 429, "internal_error": 500}.get(outcome, 200)
    finish = {"delivered": "stop", "truncated": "length"}.get(outcome)
    return {"schema": "servelab.request-record.v1", "request_id": request_id, "attempt": attempt,
            "workload": {"model": "m", "prompt_tokens": prompt_tokens, "max_output_tokens": 256,
                         "output_tokens": output_tokens, "decoding": "greedy", "cached_prompt_tokens": 0, "paced": paced},
            "events": events,
            "outcome": {"delivered": done and client, "http_status": status, "finish_reason": finish, "error": None},
            "quality": {"check": check, "verdict": verdict if done else "not_evaluated"},
            "structure": {"check": None, "verdict": "not_required"}, "resources": {"gpu_seconds": None, "joules": joules}}


def run_file(first, last, window, sent, *, valid=True, reasons=(), paced=None, arrivals="poisson", ignore_eos=False):
    return {"schema": "servelab.run.v1", "valid": valid, "invalid_reasons": list(reasons), "paced": paced,
            "workload": {"arrivals": arrivals, "ignore_eos": ignore_eos},
            "schedule": {"first_t_ns": first, "last_t_ns": last, "window_from_t_ns": window[0], "window_to_t_ns": window[1]},
            "counts": {"sent": sent}}


def write_log(path, records):
    with open(path, "w") as f:
        for r in records:
            f.write(json.dumps(r) + "\n")
    return path


def write_run(folder, records, file):
    os.makedirs(folder, exist_ok=True)
    write_log(os.path.join(folder, "records.jsonl"), records)
    with open(os.path.join(folder, "run.json"), "w") as f:
        json.dump(file, f)
    return folder


def objective(**more):
    return {"schema": "servelab.objective.v1", "name": "test", "kind": "serving", **more}


# ---- what a report must say ------------------------------------------------------------------------------------------


def nearest_rank(values, failed, p):
    """The p-th percentile of values and `failed` infinities; None: no observation."""
    every = sorted(values) + [math.inf] * failed
    return every[math.ceil(p * len(every) / 100) - 1] if every else None


def confidence(values, failed, p):
    """(lo, hi) of the 95 % interval of the p-th percentile by order statistics; None: not bounded, or infinite."""
    every = sorted(values) + [math.inf] * failed
    n, q = len(every), p / 100
    below = [sum(math.comb(n, k) * q**k * (1 - q)**(n - k) for k in range(r)) for r in range(n + 1)]  # P(X < r)
    lo = [r for r in range(1, n + 1) if below[r] <= 0.025]
    hi = [r for r in range(1, n + 1) if 1 - below[r] <= 0.025]
    found = (every[lo[-1] - 1] if lo else math.inf, every[hi[0] - 1] if hi else math.inf)
    return tuple(None if v == math.inf else v for v in found)


def expected(tries, window):
    """tries: {id: [(sent, lag, ttft, e2e, outcome, verdict), ...]} in the order of the attempts."""
    inside = {k: t for k, t in tries.items() if window[0] <= t[0][0] <= window[1]}
    last = {k: t[-1] for k, t in inside.items()}
    done = {k for k, t in last.items() if t[4] == "delivered"}
    since = {k: inside[k][-1][0] - inside[k][0][0] + inside[k][-1][1] for k in done}  # before its last try was sent
    ttft = [since[k] + last[k][2] for k in done]
    e2e = [since[k] + last[k][3] for k in done]
    failed = len(inside) - len(done)
    return {"requests": len(inside), "attempts": sum(len(t) for t in inside.values()), "completed": len(done),
            "useful": sum(last[k][5] == "passed" for k in done),
            "ttft": {p: nearest_rank(ttft, failed, p) for p in (50, 90, 99)},
            "e2e": {p: nearest_rank(e2e, failed, p) for p in (50, 90, 99)},
            "e2e_ci": {p: confidence(e2e, failed, p) for p in (50, 90, 99)},
            "e2e_ok": {p: nearest_rank(e2e, 0, p) for p in (50, 90, 99)}}
