#!/usr/bin/env python3
"""predict.py: predict, then measure: the simulator against a running server on the very same arrivals.

    python3 common/sim/bench/predict.py paced|native [REPEATS] [parts]      (default 1)

Calibrates the cost model to runs of a server under `continuous` (their own seeds and rates). Then for each policy and rate:
`servelab sim run --cost` predicts, `servelab load` measures, both with the same seed and flags, which give the same arrivals and
lengths. Both sides are computed from request records by the same lines below: TTFT from the scheduled send to the first token
(measured: the first byte at the client), TPOT as (last token - first) / (tokens - 1). The simulator knows steps only. What lies
around them (the client's lag, HTTP, tokenizing, waking threads) is one of two constants: its median over the calibration's requests
that found the server idle, whose processor had to be woken, and over those that did not. It is added to the predicted TTFT. Prints
mean and p99 (nearest rank) of both, and predicted / measured - 1; with `parts` as last word also where the time of the mean TTFT
went. Requests of the first 2 s (at most a quarter of the run) are left out of both.

A shared machine changes its speed within minutes. Each run is therefore calibrated just before it, and the next calibration
checks it: where the two predict means of the lowest rate that differ by more than 5 %, the machine that was measured wasn't the
one that was calibrated. Such a row says so and is measured again, at most twice. All rows are printed.

Each server first answers requests that are not measured, until every block of its KV cache was used once: the system gives
memory when it is touched, 2 MiB at a time, and on a virtual machine that takes up to 25 ms in the middle of a step. Its
threads besides the engine's get a higher real-time priority: at an equal one, the HTTP thread waits until a step ends, because
such threads don't interrupt each other.
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
# the server, the lengths, the rates: two below the knee and one above; the requests; the rates that are calibrated at: one with
# which the server is idle between requests, and for all batch sizes one with which it isn't
CASES = {
    "paced": (("--backend", "none", "--pace", "llama-2-7b:a100", "--context", "4096"),
              ("--prompt-tokens", "16:1024", "--output-tokens", "16:96"), (4, 7, 25), 160, (3, 10)),
    "native": (("--threads", "1"), ("--prompt-tokens", "16:400", "--output-tokens", "16:96"), (10, 30, 150), 120, (5, 60))}
SEED = 7
WARM_UP = (60, 120)  # requests/s, requests: every block of the native cache is used once


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
        measure(self.url, self.log + ".warm", arrivals(*WARM_UP, ("--prompt-tokens", "16:400", "--output-tokens", "16:96"), SEED + 2))
        self.raise_all_but_the_engine()
        return self

    def raise_all_but_the_engine(self):
        tasks = f"/proc/{self.process.pid}/task"
        used = {}
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/stat") as f:
                used[int(task)] = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
        for task in set(used) - {max(used, key=used.get)}:
            try:
                os.sched_setscheduler(task, os.SCHED_RR, os.sched_param(2))
            except PermissionError:
                pass

    def __exit__(self, *exc):
        self.process.terminate()
        self.process.wait()


def arrivals(rate, requests, lengths, seed):
    return ("--arrivals", "poisson", "--rate-rps", str(rate), "--requests", str(requests), "--seed", str(seed), *lengths)


PARTS = ("lag", "accept", "tokenize", "queue", "prefill", "out")


def rows_of(path):
    """Of every request of a log that was submitted after the beginning: its TTFT, TPOT and the parts of the TTFT, in ms."""
    rows, ahead_ns, run = [], 0, os.path.join(os.path.dirname(path), "run.json")
    if os.path.exists(run):  # the simulator writes none
        with open(run) as f:
            ahead_ns = json.load(f)["schedule"]["ahead_of_monotonic_ns"]
    with open(path) as f:
        for line in f:
            record = json.loads(line)
            at, tokens = {}, []
            for event in record["events"]:
                ahead = ahead_ns if event["clock"] == "browser" else 0
                at.setdefault(event["event"], event["t_ns"] - ahead)
                if event["event"] == "request_submitted":
                    at["scheduled"] = event.get("scheduled_t_ns", event["t_ns"]) - ahead
                if event["event"] == "token_sent":
                    tokens.append(event)
            n = sum(e.get("tokens", 1) for e in tokens)
            # the simulator has no client and no tokenizer; both clocks are this machine's, ahead_ns apart
            ends = [at.get("scheduled", at["request_accepted"])]
            for name, other in (("request_submitted", ends[0]), ("request_accepted", 0), ("tokenization_finished", at["request_accepted"]),
                                ("request_admitted", 0), ("first_token", 0), ("first_byte_received", at["first_token"])):
                ends.append(at.get(name, other))
            row = {part: (ends[i + 1] - ends[i]) / 1e6 for i, part in enumerate(PARTS)}
            row.update(sent=ends[0], end=tokens[-1]["t_ns"], ttft=(ends[-1] - ends[0]) / 1e6, tpot=(tokens[-1]["t_ns"] - tokens[0]["t_ns"]) / (n - 1) / 1e6)
            rows.append(row)
    for row in rows:
        row["busy"] = any(other["sent"] < row["sent"] < other["end"] for other in rows)
    sends = [row["sent"] for row in rows]
    begin = min(sends) + min(2e9, (max(sends) - min(sends)) / 4)
    return [row for row in rows if row["sent"] >= begin]


def p99(values):
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def measure(url, out, load):
    done = subprocess.run([SERVELAB, "load", "--url", url, *load, "--out", out, "--force"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    with open(os.path.join(out, "run.json")) as f:
        return "" if json.load(f)["valid"] else "  (the run is invalid)"


def around_steps(rows):
    """The median time of a request's TTFT outside of steps and queue, in ms, by whether it found the server busy."""
    return {busy: statistics.median(row["ttft"] - row["queue"] - row["prefill"] for row in rows if row["busy"] == busy)
            for busy in (False, True)}


def calibrate(case, work, number):
    """Measures a server at each of the case's rates; the cost model is fitted to the steps of all of them. Returns the path of the
    cost file, what is around the steps, and the fit's own words."""
    flags, lengths, _, _, rates = CASES[case]
    log, cost = os.path.join(work, f"steps-{number}.jsonl"), os.path.join(work, f"cost-{number}")
    rows, spans = [], []
    with Server((*flags, "--policy", "continuous"), log) as server:
        for i, rate in enumerate(rates):
            out = os.path.join(work, "calibration")
            measure(server.url, out, arrivals(rate, 120, lengths, SEED + 1 + 2 * i))
            one = rows_of(out + "/records.jsonl")
            rows += one
            spans.append((min(row["sent"] for row in one), max(row["end"] for row in one)))
    with open(log) as f, open(log + ".measured", "w") as out:  # without the steps before the runs
        out.write(f.readline())
        out.writelines(line for line in f if any(begin <= json.loads(line)["start_ns"] <= end for begin, end in spans))
    fit = subprocess.run([SERVELAB, "sim", "calibrate", log + ".measured", "--out", cost], check=True, capture_output=True, text=True)
    return cost, around_steps(rows), fit.stdout


def predict(calibration, load, policy, work):
    """The simulator's rows for this load, each TTFT with what is around the steps."""
    cost, around, _ = calibration
    simulated = os.path.join(work, "sim.jsonl")
    subprocess.run([SERVELAB, "sim", "run", *load, "--policy", policy, "--cost", cost, "--records", simulated], check=True,
                   stdout=subprocess.DEVNULL)
    rows = rows_of(simulated)
    for row in rows:
        row["ttft"] += around[row["busy"]]
    return rows


def mean(rows, figure):
    return statistics.mean(row[figure] for row in rows)


def change(case, before, after, work):
    """The largest relative difference of what two calibrations predict of the means of the lowest rate, where nothing queues."""
    _, lengths, rates, requests, _ = CASES[case]
    load = arrivals(rates[0], requests, lengths, SEED)
    one, other = (predict(calibration, load, "continuous", work) for calibration in (before, after))
    return max(abs(mean(other, figure) / mean(one, figure) - 1) for figure in ("ttft", "tpot"))


def print_row(policy, rate, got, want, note, show_parts):
    cells = []
    for figure in ("ttft", "tpot"):
        for of in (statistics.mean, p99):
            a, b = of([row[figure] for row in got]), of([row[figure] for row in want])
            cells.append(f"{a:.2f} / {b:.2f} ({100 * (b / a - 1):+.1f} %)")
    print(f"| {policy} | {rate} | " + " | ".join(cells) + " |" + note, flush=True)
    if show_parts:
        print("  mean TTFT, measured / predicted in ms: " + ", ".join(f"{part} {mean(got, part):.3f} / {mean(want, part):.3f}"
                                                                     for part in PARTS), flush=True)


def compare(case, policy, rate, work, before, number, show_parts):
    """One run between two calibrations. Returns the later calibration, and whether the row counts."""
    flags, lengths, _, requests, _ = CASES[case]
    load, out = arrivals(rate, requests, lengths, SEED), os.path.join(work, "run")
    want = predict(before, load, policy, work)
    with Server((*flags, "--policy", policy), os.path.join(work, "run-steps.jsonl")) as server:
        note = measure(server.url, out, load)  # a run whose client was late is no measurement
    after = calibrate(case, work, number)
    changed = change(case, before, after, work)
    if changed > 0.05:
        note += f"  (not counted: the next calibration's means differ by {100 * changed:.0f} %)"
    print_row(policy, rate, rows_of(out + "/records.jsonl"), want, note, show_parts)
    return after, not note


def main():
    case, repeats = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    show_parts = sys.argv[-1] == "parts"
    number, uncounted = 0, 0
    with tempfile.TemporaryDirectory() as work:
        calibration = calibrate(case, work, number)
        _, around, fit = calibration
        print(fit)
        print(f"around the steps of a request: {around[False]:.3f} ms when it finds the server idle, {around[True]:.3f} ms when "
              "not, added to each predicted TTFT (of the first calibration)\n")
        print("measured / predicted in ms\n\n| policy | requests/s | mean TTFT | p99 TTFT | mean TPOT | p99 TPOT |\n"
              "|---|---|---|---|---|---|")
        for _ in range(repeats):
            for policy in POLICIES:
                for rate in CASES[case][2]:
                    for _ in range(3):
                        number += 1
                        calibration, counts = compare(case, policy, rate, work, calibration, number, show_parts)
                        uncounted += not counts
                        if counts:
                            break
        print(f"\n{number} runs, {uncounted} not counted")


if __name__ == "__main__":
    main()
