#!/usr/bin/env python3
"""check_simpy.py: the same small models in SimPy, an event simulator by others, to the nanosecond.

Runs the models below in SimPy on an integer clock and compares with simpy_golden.txt, which
test_simpy.c compares our simulator with: so that the golden data is neither ours nor stale.

    python check_simpy.py           compare; TAP on stdout
    python check_simpy.py --write   write the golden data anew

Needs simpy (common/setup/requirements-foreign.txt). The models are written from the descriptions in
policies.h and cost.h, in SimPy's own terms: processes, resources, stores, events.
"""
import os
import sys

import simpy

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "simpy_golden.txt")


class Request:
    def __init__(self, number, arrival, prompt=1, output=1, service=0):
        self.number, self.arrival, self.prompt, self.output = number, arrival, prompt, output
        self.service = service
        self.computed = self.generated = 0
        self.departure = None


def numbers(seed):
    """Whole numbers that look random (Lehmer's generator, as Park and Miller have it)."""
    x = seed
    while True:
        x = x * 48271 % 2147483647
        yield x


def requests(seed, n, gap, prompt, output, service):
    """n requests with gaps, prompts, outputs and service times below these bounds."""
    draw = numbers(seed)
    at, made = 0, []
    for i in range(n):
        at += next(draw) % gap
        made.append(Request(i, at, 1 + next(draw) % prompt, 1 + next(draw) % output,
                            1 + next(draw) % service))
    return made


# ---- one by one: a resource of capacity 1 ----------------------------------------------------------

def single(env, made, cost):
    worker = simpy.Resource(env, capacity=1)

    def customer(r):
        yield env.timeout(r.arrival)
        with worker.request() as turn:
            yield turn
            yield env.timeout(cost["setup"] + cost["per"] if cost["kind"] == "request" else r.service)
        r.departure = env.now

    for r in made:
        env.process(customer(r))


# ---- groups: a queue and a worker that takes several -----------------------------------------------

def groups(env, made, cost, most, least):
    waiting, news = [], [env.event()]
    left = [len(made)]

    def customer(r):
        yield env.timeout(r.arrival)
        waiting.append(r)
        left[0] -= 1
        news[0].succeed()
        news[0] = env.event()

    def worker():
        while left[0] or waiting:
            while not waiting or (len(waiting) < least and left[0]):
                yield news[0]
                yield env.timeout(0)  # arrivals at this instant are included
            group = [waiting.pop(0) for _ in range(min(most, len(waiting)))]
            yield env.timeout(cost["setup"] + cost["per"] * len(group))
            for r in group:
                r.departure = env.now
            yield env.timeout(0)

    for r in made:
        env.process(customer(r))
    env.process(worker())


# ---- a decoder with continuous batching ------------------------------------------------------------

def pass_ns(cost, tokens, context):
    """An iteration: the weights' bytes or the tokens' operations, then the caches of all requests."""
    matrices = max(cost["fixed"], tokens * cost["token"])
    return (matrices + context * cost["context"]) // 1000 + cost["overhead"]


def decoder(env, made, cost, chunked, budget, positions):
    waiting, running, news = [], [], [env.event()]
    left = [len(made)]

    def customer(r):
        yield env.timeout(r.arrival)
        waiting.append(r)
        left[0] -= 1
        news[0].succeed()
        news[0] = env.event()

    def prefills(room):
        """Pieces of prompts: those that run already, then newcomers as far as there are places."""
        pieces = []
        for r in list(running):
            if r.computed < r.prompt and room:
                pieces.append((r, min(room, r.prompt - r.computed)))
                room -= pieces[-1][1]
        while waiting and room and len(running) < positions:
            r = waiting.pop(0)
            running.append(r)
            pieces.append((r, min(room, r.prompt)))
            room -= pieces[-1][1]
        return pieces

    def worker():
        while left[0] or waiting or running:
            if not waiting and not running:
                yield news[0]
                yield env.timeout(0)
            decoding = [(r, 1) for r in running if r.computed >= r.prompt]
            if chunked:
                work = decoding + prefills(budget - len(decoding))
            else:
                work = prefills(budget) or decoding
            yield env.timeout(pass_ns(cost, sum(t for _, t in work),
                                      sum(r.computed + t for r, t in work)))
            for r, tokens in work:
                r.computed += tokens
                if r.computed < r.prompt + r.generated:
                    continue
                r.generated += 1
                if r.generated == r.output:
                    r.departure = env.now
                    running.remove(r)
            yield env.timeout(0)

    for r in made:
        env.process(customer(r))
    env.process(worker())


# ---- the cases -------------------------------------------------------------------------------------

PLENTY = 1 << 20
LLAMA = dict(kind="decoder", fixed=6_700_000_000, context=260_000, token=65_000_000, overhead=400_001)


def cases():
    per = dict(kind="request", setup=4_000_003, per=1_000_001)
    load = lambda seed: requests(seed, 60, 6_000_000, 1, 1, 5_000_000)
    decode = lambda seed: requests(seed, 50, 120_000_000, 700, 60, 1)
    yield "single", dict(kind="service"), PLENTY, 1, load(1), single
    yield "single", per, PLENTY, 1, load(2), single
    for n in (2, 4):
        yield f"static:{n}", per, PLENTY, PLENTY, load(3), \
            lambda e, m, c, n=n: groups(e, m, c, n, 1)
        yield f"wait-for-n:{n}", per, PLENTY, PLENTY, load(4), \
            lambda e, m, c, n=n: groups(e, m, c, n, n)
    yield "continuous", LLAMA, PLENTY, 4, decode(5), \
        lambda e, m, c: decoder(e, m, c, False, PLENTY, 4)
    yield "continuous", LLAMA, 300, 16, decode(6), \
        lambda e, m, c: decoder(e, m, c, False, 300, 16)
    yield "chunked", LLAMA, 256, 16, decode(7), lambda e, m, c: decoder(e, m, c, True, 256, 16)
    yield "chunked", LLAMA, 64, 3, decode(8), lambda e, m, c: decoder(e, m, c, True, 64, 3)


def run_case(policy, cost, budget, positions, made, model):
    env = simpy.Environment()
    model(env, made, cost)
    env.run()
    numbers_of = " ".join(str(cost.get(k, 0)) for k in
                          ("setup", "per", "fixed", "context", "token", "overhead"))
    lines = [f"case {policy} {cost['kind']} {numbers_of} {budget} {positions} {len(made)}"]
    lines += [f"{r.arrival} {r.prompt} {r.output} {r.service} {r.departure}" for r in made]
    return lines


def main():
    text = "\n".join(line for case in cases() for line in run_case(*case)) + "\n"
    if sys.argv[1:] == ["--write"]:
        with open(GOLDEN, "w", encoding="ascii") as out:
            out.write(text)
        return 0
    with open(GOLDEN, encoding="ascii") as golden:
        same = golden.read() == text
    print(f"{'ok' if same else 'not ok'} 1 - SimPy {simpy.__version__} still gives simpy_golden.txt")
    print("1..1")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
