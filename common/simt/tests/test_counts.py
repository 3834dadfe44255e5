#!/usr/bin/env python3
"""test_counts.py: the counters of check mode.

A table of known counts for four matrix products; the same totals under g++ and clang++; equality with a brute-force count
(this file's, by sets of bytes) of a recorded trace of every kernel in correct.cu; simtcc --annotate and --roofline. TAP.
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.dom.minidom

from tap import COMPILERS, HERE, SIMTCC, TOP, check_flags, finish, skip_missing_compilers, tap

def checked(name, work, compiler="g++", **env):
    program, report = os.path.join(work, "p"), os.path.join(work, "r.json")
    subprocess.run([SIMTCC] + check_flags(compiler) + [os.path.join("common/simt/tests", name), "-o", program],
                   check=True, cwd=TOP)
    ran = subprocess.run([program], capture_output=True, env=dict(os.environ, SIMT_REPORT=report, **env))
    if ran.returncode:
        raise RuntimeError(ran.stderr.decode()[:500])
    with open(report) as f:
        return json.load(f)


def table(kernels):
    rows = {}
    for k in kernels:
        loads = k["global_load_sectors"] / k["global_load_requests"]
        moved = 32 * (k["global_load_sectors"] + k["global_store_sectors"])
        waves = k["shared_wavefronts"] / k["shared_requests"] if k["shared_requests"] else None
        rows[k["name"]] = (round(loads, 1), round(moved / k["footprint_bytes"], 1), waves)
    return rows


KNOWN = {"naive": (2.5, 53.7, None), "by_rows": (16.5, 354.7, None), "tiles": (4.0, 3.0, 1.0),
         "tiles_transposed": (4.0, 3.0, 16.5)}
# parting.cu, worked out by hand: requests to load, to store, atomics
PARTING = {"counts_some": (16, 0, 16), "switches": (16, 0, 80), "rounds_of_their_own": (31, 1, 0),
           "loop_in_loop": (256, 16, 0), "goes_on": (16, 16, 16), "leaves": (16, 16, 0), "returns_inside": (2, 1, 1),
           "breaks": (64, 16, 0), "meets_on_two_lines": (4, 1, 4), "shuffles_and_leaves": (1, 1, 1)}
FLEXIBLE = {"lines", "divergent_branches"}  # depend on the compiler: a line may differ by one


# ---- the brute-force count -------------------------------------------------------------------------------------------
def pieces(path):
    with open(path, "rb") as f:
        data = f.read()
    assert data.startswith(b"simt-trace 1\n")
    at = 13
    while at < len(data):
        (n,) = struct.unpack_from("=I", data, at)
        name = data[at + 4:at + 4 + n].decode()
        launch, warp, lanes = struct.unpack_from("=III", data, at + 4 + n)
        at += 16 + n
        traces = []
        for _ in range(lanes):
            (n,) = struct.unpack_from("=I", data, at)
            at += 4
            traces.append([struct.unpack_from("=QIBBBB", data, at + 16 * i) for i in range(n)])
            at += 16 * n
        yield name, launch, traces


def loops_of(steps, nodes):
    """The loops among these nodes, each (head, its nodes), outer ones first: what can come back to itself is a loop;
    its head is where it is entered; without the steps to its head the inner loops are left."""
    def reach(a, within):
        came, todo = set(), [a]
        while todo:
            new = (steps[todo.pop()] & within) - came
            came |= new
            todo += new
        return came
    reached = {n: reach(n, nodes) for n in nodes}
    done = set()
    for n in nodes:
        if n in done or n not in reached[n]:
            continue
        body = {k for k in reached[n] if n in reached[k]}
        done |= body
        heads = {to for a in steps if a not in body for to in steps[a] & body}
        assert len(heads) == 1, "a loop entered at two places"
        head = heads.pop()
        yield head, body
        yield from loops_of({a: steps[a] & body - {head} for a in body}, body - {head})


def joins(traces):
    """For each call site (None: the start) where all ways from it meet again: a call site, ("end", head) for the end of
    a loop's round, or "out". Found by taking places away: the first on any way out without which there is no way out."""
    steps = collections.defaultdict(set)
    for t in traces:
        last = max([i + 1 for i, r in enumerate(t) if r[2]], default=0)  # steps after the last access don't matter
        places = [None] + [r[1] for r in t[:last]]
        for a, b in zip(places, places[1:]):
            steps[a].add(b)
    loops = {head: body for head, body in loops_of(collections.defaultdict(set, steps), set(steps) | set().union(*steps.values()))} \
        if steps else {}
    ways = collections.defaultdict(set)
    for a in steps:
        around = sorted((h for h in loops if a in loops[h]), key=lambda h: len(loops[h]))
        for b in steps[a]:
            at = a
            for h in around:
                if b in loops[h] and b != h:
                    break
                ways[at].add(("end", h))
                at = ("end", h)
                if b == h:
                    break
            if at != ("end", b):
                ways[at].add(b)

    def way_out(start, without):
        came, todo = {start: start}, [start]
        while todo:
            at = todo.pop()
            for to in ways[at] or {"out"}:
                if to == "out":
                    way = [at]
                    while way[-1] != start:
                        way.append(came[way[-1]])
                    return way[::-1]
                if to not in came and to != without:
                    came[to] = at
                    todo.append(to)
        return None

    known = {}

    def join(site):
        if site not in known:
            known[site] = next((p for p in way_out(site, "none")[1:] if way_out(site, p) is None), "out")
        return known[site]

    return join, loops


def requests(traces):
    """The lanes brought together: those that part wait for each other where their ways meet again."""
    heads, groups, (join, loops) = [0] * len(traces), [], joins(traces)

    def place(lane):
        return traces[lane][heads[lane]][1]

    def going(lanes, met):
        return [lane for lane in lanes if heads[lane] < len(traces[lane]) and not met(place(lane))]

    def go(lanes, before, met):
        while True:
            lanes = going(lanes, met)
            places = {place(lane) for lane in lanes}
            if not lanes:
                return
            if len(places) == 1:
                before = places.pop()
                groups.append([traces[lane][heads[lane]] for lane in lanes])
                for lane in lanes:
                    heads[lane] += 1
                continue
            if isinstance(before, tuple) and before[1] in places:
                go([lane for lane in lanes if place(lane) == before[1]], before, lambda p: p not in loops[before[1]])
                continue
            meeting = join(before)
            if isinstance(meeting, tuple):
                stop = lambda p: p == meeting[1] or p not in loops[meeting[1]]
            else:
                stop = lambda p: p == meeting
            while going(lanes, stop):
                first = place(going(lanes, stop)[0])
                go([lane for lane in going(lanes, stop) if place(lane) == first], before, stop)
            before = meeting

    go(range(len(traces)), None, lambda p: False)
    return [g for g in groups if g[0][2]]


def wavefronts(group):
    size, atomic = group[0][2], group[0][3] & 2
    total, step = 0, 32 if size <= 4 else 128 // size
    for i in range(0, len(group), step):
        banks = collections.defaultdict(list)
        for address, _, n, _, _, _ in group[i:i + step]:
            for word in {b // 4 for b in range(address, address + n)}:
                banks[word % 32].append(word)
        total += max(len(words) if atomic else len(set(words)) for words in banks.values())
    return total


def brute(path):
    kernels = collections.defaultdict(collections.Counter)
    touched = collections.defaultdict(set)
    for name, launch, traces in pieces(path):
        k = kernels[name]
        for group in requests(traces):
            size, access, shared = group[0][2], group[0][3], group[0][4]
            if shared:
                k["shared_requests"] += 1
                k["shared_wavefronts"] += wavefronts(group)
                continue
            kind = "atomic" if access & 2 else "store" if access & 1 else "load"
            sectors = {b // 32 for g in group for b in range(g[0], g[0] + g[2])}
            k["global_%s_requests" % kind] += 1
            k["global_%s_sectors" % kind] += len(sectors)
            if kind != "store":
                k["bytes_read"] += size * len(group)
                touched[name] |= {(launch, 0, s) for s in sectors}
            if kind != "load":
                k["bytes_written"] += size * len(group)
                touched[name] |= {(launch, 1, s) for s in sectors}
    for name, sectors in touched.items():
        kernels[name]["footprint_bytes"] = 32 * len(sectors)
    return kernels


def differences(report, kernels):
    keys = ["global_%s_%s" % (kind, what) for kind in ("load", "store", "atomic") for what in ("requests", "sectors")]
    keys += ["shared_requests", "shared_wavefronts", "bytes_read", "bytes_written", "footprint_bytes"]
    for k in report["kernels"]:
        for key in keys:
            if k[key] != kernels[k["name"]][key]:
                yield "%s: %s: %d, brute force %d" % (k["name"], key, k[key], kernels[k["name"]][key])


def line_sums(report):
    for k in report["kernels"]:
        for key in k:
            if isinstance(k[key], int) and k["lines"] and key in k["lines"][0]:
                total = sum(line[key] for line in k["lines"])
                if total != k[key]:
                    yield "%s: %s: %d, its lines %d" % (k["name"], key, k[key], total)


def tools(work):
    report = os.path.join(work, "gemm.json")
    text = subprocess.run([SIMTCC, "--annotate", report], capture_output=True, text=True, cwd=TOP)
    lines = text.stdout.split("\n")
    advice = [i for i, line in enumerate(lines) if "wavefronts a request" in line]
    tap(text.returncode == 0 and len(advice) == 1 and "bt[x][" in "".join(lines[advice[0] - 3:advice[0]]) or
        len(advice) == 2 and all("bt[x]" in lines[i - 1] for i in advice),
        "--annotate advises under the transposed store and nowhere else about banks", lines[advice[0] - 3:advice[0] + 1]
        if advice else [text.stderr])
    sectors = [i for i, line in enumerate(lines) if "sectors a request" in line]
    tap(len(sectors) >= 1 and all("by_rows" in "".join(lines[i - 8:i]) for i in sectors),
        "--annotate advises about coalescing in by_rows only")
    svg = os.path.join(work, "r.svg")
    ran = subprocess.run([SIMTCC, "--roofline", report, "-o", svg] +
                         [w for k in KNOWN for w in ("--ops", "%s=%d" % (k, 2 * 128 ** 3))], capture_output=True, text=True)
    dom = xml.dom.minidom.parse(svg)
    tap(ran.returncode == 0 and len(dom.getElementsByTagName("circle")) == 2 * len(KNOWN),
        "--roofline draws each kernel at its bytes and at its footprint", [ran.stderr])
    bad = subprocess.run([SIMTCC, "--annotate", os.path.join(HERE, "gemm.cu")], capture_output=True, text=True)
    tap(bad.returncode == 2 and "gemm.cu" in bad.stderr, "--annotate of a file that isn't a report names it")


def main():
    with tempfile.TemporaryDirectory() as work:
        skip_missing_compilers("the counts")
        gemm = {c: checked("gemm.cu", work, c) for c in reversed(COMPILERS)}
        with open(os.path.join(work, "gemm.json"), "w") as f:
            json.dump(gemm["g++"], f)
        for name, want in KNOWN.items():
            got = table(gemm["g++"]["kernels"])[name]
            tap(got == want, "%s: %s sectors a load, %s times the footprint, %s wavefronts" % ((name,) + want), [got])
        totals = [[{k: v for k, v in kernel.items() if k not in FLEXIBLE} for kernel in r["kernels"]]
                  for r in gemm.values()]
        tap(all(t == totals[0] for t in totals), "the same totals under %s" % " and ".join(COMPILERS), totals)
        barriers = {k["name"]: k["barriers"] for k in gemm["g++"]["kernels"]}
        tap(barriers == {"naive": 0, "by_rows": 0, "tiles": 128, "tiles_transposed": 128}, "barriers", [barriers])
        tools(work)
        for compiler in COMPILERS:
            trace = os.path.join(work, "trace")
            report = checked("parting.cu", work, compiler, SIMT_TRACE=trace)
            got = {k["name"]: tuple(k["global_%s_requests" % kind] for kind in ("load", "store", "atomic"))
                   for k in report["kernels"]}
            tap(got == PARTING, "%s: lanes that part wait for each other where their ways meet" % compiler,
                ["%s: %s, want %s" % (k, got.get(k), PARTING[k]) for k in PARTING if got.get(k) != PARTING[k]])
            notes = list(differences(report, brute(trace)))
            tap(not notes, "%s: the same by brute force" % compiler, notes)
            report = checked("correct.cu", work, compiler, SIMT_TRACE=trace)
            notes = list(differences(report, brute(trace)))
            tap(not notes and len(report["kernels"]) >= 40,
                "%d kernels, %s: all counts equal a brute-force count of the trace" % (len(report["kernels"]), compiler),
                notes)
            tap(not list(line_sums(report)), "%s: a kernel's counts are the sums of its lines'" % compiler,
                line_sums(report))
        diverged = {k["name"]: k["divergent_branches"] for k in report["kernels"]}
        tap(diverged["copy_vectors"] == 1 and diverged["reverse"] == 0 and diverged["warp_sum"] >= 1,
            "branches that split a warp", [diverged])
        tap(all(re.match(r"l1tex__|smsp__|dram__|BAR", m) for m in report["metrics"].values()) and
            set(report["metrics"]) >= {"global_load_sectors", "shared_wavefronts", "divergent_branches"},
            "every count carries its Nsight Compute name")
    return finish()


sys.exit(main())
