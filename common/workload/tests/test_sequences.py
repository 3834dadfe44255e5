"""test_sequences.py: the first requests of every kind of workload, made a second time in Python.

Python's integers don't overflow, its divisions are written differently, and it has none of our
code: where both agree to the nanosecond, the sequence is what the headers say and no accident of a
compiler or a processor. The digests in test_workload.c then hold the whole sequences.
"""
import decimal, heapq, os, subprocess, sys

OBJ = os.environ.get("OBJ", "build/obj/gcc-release-solutions")
READER = os.path.join(OBJ, "common/workload/tests/test_workload")
M64 = (1 << 64) - 1
NS = 10**9


class Rng:
    """xoshiro256**, seeded by splitmix64."""

    def __init__(self, seed):
        self.s = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & M64
            z = seed
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
            self.s.append(z ^ (z >> 31))

    def next(self):
        def rotl(x, k):
            return ((x << k) | (x >> (64 - k))) & M64
        s = self.s
        out = (rotl((s[1] * 5) & M64, 7) * 9) & M64
        t = (s[1] << 17) & M64
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 45)
        return out

    def below(self, n):
        while True:
            x = self.next()
            if x >= (1 << 64) % n:
                return x % n

    def exponential(self, mean):
        """Ahrens and Dieter's SA: as many ln 2 as leading zeros, then the least of a few uniforms."""
        u = 0
        while u == 0:
            u = self.next()
        zeros = 64 - u.bit_length()
        u = (u << (zeros + 1)) & M64
        q58 = zeros * LN2_Q58
        if u <= Q[0]:
            q58 += u >> 6
        else:
            least, i = self.next(), 1
            while True:
                least = min(least, self.next())
                if i >= len(Q) or u <= Q[i]:
                    break
                i += 1
            q58 += least * LN2_Q58 >> 64
        return q58 * mean >> 58


def sums_of_powers():
    """Sums of (ln 2)^i / i! for i = 1 .. k, times 2^64: 17 of them differ from 1 in 64 bits."""
    total = decimal.Decimal(0)
    term = decimal.Decimal(1)
    for i in range(1, 18):
        term = term * LN2 / i
        total += term
        yield int(total * 2**64)


decimal.getcontext().prec = 60
LN2 = decimal.Decimal(2).ln()
LN2_Q58, LN2_Q52 = int(LN2 * 2**58), int(LN2 * 2**52)
Q = list(sums_of_powers())


# ---- arrivals: generators of times in ns -------------------------------------------------------

def finest_shift(ns):
    return max(s for s in range(21) if s == 0 or ns * 2**s <= 2**52)


def units(ns, shift):
    return round(ns * 2**shift)  # halves to even


def poisson(seed, rate):
    shift = finest_shift(NS / rate)
    gap, rng, at = units(NS / rate, shift), Rng(seed), 0
    while True:
        at += rng.exponential(gap)
        yield at >> shift


def exp_minus_q62(x):
    halvings = x // LN2_Q52
    if halvings >= 62:
        return 0
    rest, y = (x - halvings * LN2_Q52) << 10, 1 << 62
    for n in range(19, 0, -1):
        y = (1 << 62) - (rest * y >> 62) // n
    return y >> halvings


def beta_q62(rng, part):
    def root(f):
        return min((rng.exponential(1 << 52) << 32) // f, 2000 << 52)
    while True:
        x = root(part)
        y = root((1 << 32) - part)
        if exp_minus_q62(x) + exp_minus_q62(y) <= 1 << 62:
            break
    ratio = exp_minus_q62(abs(x - y))
    smaller = (ratio << 62) // ((1 << 62) + ratio)
    return smaller if x > y else (1 << 62) - smaller


def gamma(seed, rate, cv):
    shape = 1 / (cv * cv)
    scale_ns = NS / rate / shape
    shift, rng, at = finest_shift(scale_ns), Rng(seed), 0
    whole, part = divmod(round(shape * 2**32), 1 << 32)
    while True:
        g = sum(rng.exponential(1 << 52) >> 12 for _ in range(whole))
        if part:
            b = beta_q62(rng, part)
            g += rng.exponential(1 << 52) * b >> 74
        at += g * units(scale_ns, shift) >> 40
        yield at >> shift


def on_off(seed, rate, on_s, off_s):
    share = on_s / (on_s + off_s)
    gap_ns = NS / rate * share
    shift = finest_shift(max(gap_ns, on_s * NS, off_s * NS))
    gap, on, off = units(gap_ns, shift), units(on_s * NS, shift), units(off_s * NS, shift)
    rng, at = Rng(seed), 0
    if not (rng.next() >> 11) / 2**53 < share:
        at += rng.exponential(off)
    left = rng.exponential(on)
    while True:
        need = rng.exponential(gap)
        while need > left:
            need -= left
            at += left + rng.exponential(off)
            left = rng.exponential(on)
        left -= need
        at += need
        yield at >> shift


def closed(seed, clients, think_s):
    """At the server of sequence.h: one by one, 5 ms each; an end comes before an arrival at the
    same instant."""
    rng, think = Rng(seed), round(think_s * NS)
    to_send = [rng.exponential(think) for _ in range(clients)]
    heapq.heapify(to_send)
    queue, free_at = [], 0
    while True:
        while queue:
            end = max(queue[0], free_at) + 5_000_000
            if to_send and end > to_send[0]:
                break
            free_at = end
            queue.pop(0)
            heapq.heappush(to_send, end + rng.exponential(think))
        at = heapq.heappop(to_send)
        queue.append(at)
        yield at


# ---- the whole request -------------------------------------------------------------------------

def requests(arrivals, seed, n):
    """As whole_spec of test_workload.c says: prompts 100 .. 3000, answers 1 .. 700 cut at 512, of
    which 3 % fail."""
    prompts, outputs, fates = (Rng(seed ^ (k * 0xD1B54A32D192ED03 & M64)) for k in (1, 2, 3))
    for i in range(n):
        at = next(arrivals)
        prompt = 100 + prompts.below(2901)
        wanted = 1 + outputs.below(700)
        output = min(wanted, 512)
        fails = (fates.next() >> 11) / 2**53 < 0.03
        when = fates.next()
        yield [i, at, prompt, output, wanted, 1 + (when * output >> 64) if fails else 0]


SEED = 42
SPECS = [("poisson", poisson(SEED, 5.5)), ("gamma, cv 2.5", gamma(SEED, 5.5, 2.5)),
         ("gamma, cv 0.6", gamma(SEED, 5.5, 0.6)), ("on-off", on_off(SEED, 5.5, 10, 35)),
         ("closed, 17 clients who think", closed(SEED, 17, 0.1)),
         ("closed, 5 clients who don't", closed(SEED, 5, 0))]
N = 3000


def main():
    failed = 0
    for k, (name, arrivals) in enumerate(SPECS):
        done = subprocess.run([READER, "--print", str(k), str(N)], stdout=subprocess.PIPE, text=True)
        ours = [[int(w) for w in line.split()] for line in done.stdout.splitlines()]
        theirs = list(requests(arrivals, SEED, N))
        wrong = next((i for i in range(N) if i >= len(ours) or ours[i] != theirs[i]), None)
        if wrong is None:
            print(f"ok {k + 1} - {name}")
            continue
        failed += 1
        print(f"not ok {k + 1} - {name}: request {wrong}: C has "
              f"{ours[wrong] if wrong < len(ours) else 'nothing'}, Python {theirs[wrong]}")
    print(f"1..{len(SPECS)}")
    return 1 if failed else 0


sys.exit(main())
