#!/usr/bin/env python3
"""bench_simpy.py: M/M/1 at 70 % in SimPy and in ours, alternating, on one core.

    python bench_simpy.py [ROUNDS [PROGRAM]]      (needs simpy; default 5 rounds)

Both draw exponential gaps and service times, keep a first-come-first-served queue, and add up what
each request's time in the system was. Prints requests per second of processor time (median, least,
most) and the ratio of the medians.
"""
import random
import re
import statistics
import subprocess
import sys
import time

import simpy

PROGRAM = "build/obj/gcc-release-solutions/common/sim/bench/bench_sim"
SIMPY_REQUESTS, OUR_REQUESTS = 200_000, 10_000_000


def in_simpy(n, seed):
    env = simpy.Environment()
    worker = simpy.Resource(env, capacity=1)
    draw = random.Random(seed).expovariate
    total = 0.0

    def customer(service):
        nonlocal total
        arrived = env.now
        with worker.request() as turn:
            yield turn
            yield env.timeout(service)
        total += env.now - arrived

    def source():
        for _ in range(n):
            yield env.timeout(draw(1.0))
            env.process(customer(draw(1 / 0.7)))

    env.process(source())
    start = time.process_time()
    env.run()
    return n / (time.process_time() - start), total / n


def ours(program):
    out = subprocess.run([program, "mm1", str(OUR_REQUESTS)], check=True, capture_output=True,
                         text=True).stdout
    return float(re.search(r"(\d+) requests/s", out)[1]), float(re.search(r"sojourn ([\d.]+)", out)[1])


def show(name, results):
    rates = [rate for rate, _ in results]
    print(f"{name:8} {statistics.median(rates):12,.0f} requests/s ({min(rates):,.0f} to {max(rates):,.0f}), "
          f"mean sojourn {statistics.mean(mean for _, mean in results):.3f}")
    return statistics.median(rates)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    program = sys.argv[2] if len(sys.argv) > 2 else PROGRAM
    theirs, mine = [], []
    for i in range(rounds):
        theirs.append(in_simpy(SIMPY_REQUESTS, i))
        mine.append(ours(program))
    print(f"SimPy {simpy.__version__}, Python {sys.version.split()[0]}, {rounds} rounds, alternating; theory 2.333")
    ratio = show("ours", mine) / show("SimPy", theirs)
    print(f"ratio    {ratio:12.1f}")


if __name__ == "__main__":
    main()
