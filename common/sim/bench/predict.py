#!/usr/bin/env python3
"""predict.py: predict, then measure: the simulator against a running server on the very same arrivals.

    python3 common/sim/bench/predict.py paced|native [REPEATS]      (default 1)

Calibrates the cost model to one run under `continuous` (its own seed), then for each policy and rate: `servelab load` measures,
`servelab sim run --cost` predicts, both with the same seed and flags, which give the same arrivals and lengths. Both sides are
computed from request records by the same lines below: TTFT from the scheduled send to the first token (measured: the first
byte at the client), TPOT as (last token - first) / (tokens - 1). Prints mean and p99 (nearest rank) of both, and
predicted / measured - 1. Requests of the first 2 s (at most a quarter of the run) are left out of both:
the first finds cold connections and caches.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

SERVELAB = os.environ.get("SERVELAB", "build/bin/servelab")
POLICIES = ("continuous", "chunked")
CASES = {  # the server, the lengths, the rates: two below the knee and one above; the requests; the rate that is calibrated at
    "paced": (("--backend", "none", "--pace", "llama-2-7b:a100", "--context", "4096"),
              ("--prompt-tokens", "16:1024", "--output-tokens", "16:96"), (4, 7, 25), 160, 4),
    "native": (("--threads", "1"), ("--prompt-tokens", "16:400", "--output-tokens", "16:96"), (10, 30, 150), 120, 60)}
SEED = 7


def real_time():
    """With real-time priority the server goes before other programs of a busy machine, as `servelab load` does."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pass


class Server:
    def __init__(self, flags, log):
        self.flags, self.log = flags, log

    def __enter__(self):
        port_file = self.log + ".port"
        if os.path.exists(port_file):
            os.remove(port_file)
        self.process = subprocess.Popen([SERVELAB, "serve", "--port", "0", "--port-file", port_file, "--step-log", self.log,
                                         *self.flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=real_time)
        while not os.path.exists(port_file):
            time.sleep(0.05)
        with open(port_file) as f:
            self.url = f"http://127.0.0.1:{int(f.read())}"
        return self

    def __exit__(self, *exc):
        self.process.terminate()
        self.process.wait()


def arrivals(rate, requests, lengths, seed):
    return ("--arrivals", "poisson", "--rate-rps", str(rate), "--requests", str(requests), "--seed", str(seed), *lengths)


def figures(path):
    """TTFT and TPOT in ms of every request of a log that was submitted after the beginning."""
    rows = []
    with open(path) as f:
        for line in f:
            record = json.loads(line)
            at = {}
            for event in record["events"]:
                at.setdefault(event["event"], event)
            tokens = [e for e in record["events"] if e["event"] == "token_sent"]
            submitted = at["request_submitted"] if "request_submitted" in at else at["request_accepted"]
            first = at.get("first_byte_received", at["first_token"])
            n = sum(e.get("tokens", 1) for e in tokens)
            tpot = (tokens[-1]["t_ns"] - tokens[0]["t_ns"]) / (n - 1)
            sent = submitted.get("scheduled_t_ns", submitted["t_ns"])
            rows.append((sent, (first["t_ns"] - sent) / 1e6, tpot / 1e6))
    sends = [row[0] for row in rows]
    begin = min(sends) + min(2e9, (max(sends) - min(sends)) / 4)
    return [[row[i] for row in rows if row[0] >= begin] for i in (1, 2)]


def p99(values):
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def measure(url, out, load):
    done = subprocess.run([SERVELAB, "load", "--url", url, *load, "--out", out, "--force"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    with open(os.path.join(out, "run.json")) as f:
        return "" if json.load(f)["valid"] else "  (the run is invalid)"


def compare(case, policy, rate, work):
    flags, lengths, _, requests, _ = CASES[case]
    load = arrivals(rate, requests, lengths, SEED)
    out, simulated = os.path.join(work, "run"), os.path.join(work, "sim.jsonl")
    with Server((*flags, "--policy", policy), os.path.join(work, "steps.jsonl")) as server:
        note = measure(server.url, out, load)
    subprocess.run([SERVELAB, "sim", "run", *load, "--policy", policy, "--cost", os.path.join(work, "cost"), "--records", simulated],
                   check=True, stdout=subprocess.DEVNULL)
    cells = []
    for got, want in zip(figures(out + "/records.jsonl"), figures(simulated)):
        for of in (statistics.mean, p99):
            cells.append(f"{of(got):.2f} / {of(want):.2f} ({100 * (of(want) / of(got) - 1):+.1f} %)")
    print(f"| {policy} | {rate} | " + " | ".join(cells) + " |" + note, flush=True)


def main():
    case, repeats = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    flags, lengths, rates, _, calibrated = CASES[case]
    with tempfile.TemporaryDirectory() as work:
        log = os.path.join(work, "calibration.jsonl")
        with Server((*flags, "--policy", "continuous"), log) as server:
            measure(server.url, os.path.join(work, "calibration"), arrivals(calibrated, 120, lengths, SEED + 1))
        print(subprocess.run([SERVELAB, "sim", "calibrate", log, "--out", os.path.join(work, "cost")], check=True,
                             capture_output=True, text=True).stdout)
        print("measured / predicted in ms\n\n| policy | requests/s | mean TTFT | p99 TTFT | mean TPOT | p99 TPOT |\n"
              "|---|---|---|---|---|---|")
        for _ in range(repeats):
            for policy in POLICIES:
                for rate in rates:
                    compare(case, policy, rate, work)


if __name__ == "__main__":
    main()
