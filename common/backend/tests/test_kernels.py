#!/usr/bin/env python3
"""test_kernels.py: every version of every kernel of lab 03 under simtcc --check: right against the reference in double, no
finding, its counts reach its own version and no later one, and each version lowers the counters of its budgets.

Builds and runs in a temporary folder, two at a time. KERNELS="gemm gemv" selects. Environment: SERVELAB and OBJ as
run_tests.py sets them, CXX for the .cu files (default: all with g++, the fast versions with clang++ too).
"""
# servelab-test: long
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("SERVELAB", TOP / "build/bin/servelab")).parent
OBJ = pathlib.Path(os.environ.get("OBJ", TOP / "build/obj/gcc-release-solutions"))
LAB = TOP / "solutions" / "03_kernels"
SEEDS = ["1", "2"]

# The first shape is the one that is counted; the others have one token, one head, sizes that aren't multiples of a tile,
# the head sizes 64, 80 and 128, groups of query heads. Blocks are out of order in all of them.
SHAPES = {
    "copy": ["n=4096", "n=1", "n=1003"],
    "copy_strided": ["rows=64 cols=64 stride=192", "rows=1 cols=8", "rows=37 cols=72"],
    "rmsnorm": ["rows=32 d=576", "rows=1 d=8", "rows=3 d=2056"],
    "softmax": ["rows=32 d=576", "rows=1 d=8", "rows=3 d=2056"],
    "rope": ["tokens=33 q_heads=8 kv_heads=2 head_dim=64", "tokens=1 q_heads=1 kv_heads=1 head_dim=80",
             "tokens=5 q_heads=3 kv_heads=1 head_dim=128"],
    "swiglu": ["rows=32 d=576", "rows=1 d=8", "rows=3 d=200"],
    "embedding": ["tokens=32 d=576", "tokens=1 d=8", "tokens=3 d=200"],
    "gemm": ["m=64 n=64 k=64", "m=1 n=4 k=4", "m=37 n=68 k=52"],
    "gemv": ["rows=64 cols=576", "rows=1 cols=8", "rows=37 cols=200"],
    "gemv_int8": ["rows=64 cols=576", "rows=1 cols=16", "rows=37 cols=208"],
    "attention_prefill": ["pos0=0 tokens=48 q_heads=4 kv_heads=2 head_dim=64",
                          "tokens=1 q_heads=1 kv_heads=1 head_dim=80",
                          "pos0=37 tokens=21 q_heads=3 kv_heads=1 head_dim=128",
                          "pos0=69 tokens=18 q_heads=2 kv_heads=2 head_dim=80"],
    "attention_decode": ["seqs=2 context=200 q_heads=8 kv_heads=2 head_dim=64 splits=3",
                         "seqs=1 context=1 q_heads=1 kv_heads=1 head_dim=80 splits=1",
                         "seqs=3 context=70 q_heads=3 kv_heads=1 head_dim=128 splits=4",
                         "seqs=2 context=97 q_heads=4 kv_heads=4 head_dim=80 splits=5"],
    "attention_merge": ["seqs=5 q_heads=8 head_dim=64 splits=5", "seqs=1 q_heads=1 head_dim=80 splits=1",
                        "seqs=2 q_heads=3 head_dim=128 splits=4"],
    "argmax": ["rows=3 vocab=2048", "rows=1 vocab=8", "rows=5 vocab=1000"],
    "sample": ["rows=2 vocab=2048 top_k=40", "rows=1 vocab=8 top_k=3", "rows=3 vocab=1000", "rows=9 vocab=600 top_k=1"],
}


def call(args, **env):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, cwd=TOP,
                          env={**os.environ, "SIMT_TIME_LIMIT_S": "0", **env})
    return done.returncode, done.stdout, done.stderr


def tail(text):
    return " / ".join(line for line in text.strip().splitlines()[-4:])[:700]


class Version:
    """One .cu file, its build and its results."""

    def __init__(self, kernel, number, last, work, cxx):
        self.kernel, self.number, self.last, self.cxx = kernel, number, last, cxx
        folder = LAB if number == last else LAB / "steps"
        self.stem = kernel if number == last else f"{kernel}_{number}"
        self.source, self.launch = folder / f"{self.stem}.cu", folder / "launch.json"
        self.program = work / f"{self.stem}.{cxx}"
        self.name = f"{self.stem}, version {number} of {last}, {cxx}"
        self.problem, self.counts, self.budgets, self.reached = None, {}, [], None

    def check(self, objects, runner):
        self.problem = self.build(objects) or self.run() or self.count(runner)
        return self

    def build(self, objects):
        rc, _, err = call([BIN / "simtcc", "--check", f"--cxx={self.cxx}", "-Icommon", self.source, *objects, "-lcjson", "-lm",
                           "-o", self.program])
        return f"doesn't compile: {tail(err)}" if rc else None

    def run(self):
        for seed in SEEDS:
            rc, out, err = call([self.program, self.kernel, self.launch, self.stem, seed, *SHAPES[self.kernel]])
            if rc or out.count(": right") != len(SHAPES[self.kernel]):
                return f"seed {seed}, exit status {rc}: {tail(out)} {tail(err)}"
        return None

    def count(self, runner):
        report = self.program.with_name(self.program.name + ".json")
        shape = SHAPES[self.kernel][0]
        rc, out, err = call([self.program, self.kernel, self.launch, self.stem, "1", shape], SIMT_REPORT=str(report))
        if rc:
            return f"exit status {rc}: {tail(out)} {tail(err)}"
        if json.loads(report.read_text())["errors"]:
            return "the report has findings"
        rc, out, err = call([runner, "--judge", report, self.kernel, shape])
        if rc:
            return tail(err)
        for line in out.splitlines():
            words = line.split()
            if words[0] == "version":
                self.reached = int(words[1])
            elif words[0] == "budget":
                self.budgets.append((int(words[1]), words[2], int(words[3])))
            else:
                self.counts[words[0]] = int(words[1])
        if self.reached != self.number:
            return f"reaches version {self.reached}; counts {self.counts}, budgets {self.budgets}"
        return None


def versions(work, cxx):
    chosen = os.environ.get("KERNELS", "").split() or SHAPES
    for kernel in chosen:
        last = 1 + len(list((LAB / "steps").glob(f"{kernel}_[0-9].cu")))
        for number in range(1, last + 1):
            yield Version(kernel, number, last, work, cxx)


def host_objects(work):
    """kernel_run twice: for simtcc to link, and as a program that only judges."""
    include = ["-Icommon", "-Icommon/backend/tests", f"-I{BIN}/simt/include", "-D__SIMT__=1", "-D_GNU_SOURCE", "-std=gnu17", "-O1"]
    objects = []
    for name in ("kernel_run", "kernel_glue_simt"):
        objects.append(work / f"{name}.o")
        rc, _, err = call(["gcc", *include, "-c", f"common/backend/tests/{name}.c", "-o", objects[-1]])
        assert rc == 0, err
    objects.append(OBJ / "libservelab.a")
    return objects


def improved(chain):
    """Problems of version v: a counter of its own budgets that isn't below that of version v - 1."""
    problems = []
    for before, now in zip(chain, chain[1:]):
        for counter in {c for v, c, _ in now.budgets if v == now.number}:
            if not now.counts.get(counter, 0) < before.counts.get(counter, 0):
                problems.append(f"{now.stem}: {counter} {now.counts.get(counter)}, was {before.counts.get(counter)}")
    return problems


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="kernels-"))
    n = failed = 0

    def report(ok, name, why=""):
        nonlocal n, failed
        n += 1
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - {name}" + (f": {why}" if why and not ok else ""), flush=True)

    try:
        objects = host_objects(work)
        wanted = os.environ.get("CXX", "g++ clang++").split()
        compilers = [c for c in wanted if shutil.which(c)]
        jobs = list(versions(work, compilers[0]))
        jobs += [v for c in compilers[1:] for v in versions(work, c) if v.number == v.last]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            # any checked program judges; the first one is built before the others need it
            first = jobs[0].check(objects, jobs[0].program)
            done = [first, *pool.map(lambda v: v.check(objects, first.program), jobs[1:])]
        for v in done:
            report(v.problem is None, f"{v.name}: right, clean, and its counts are its version's", v.problem)
            if os.environ.get("VERBOSE"):
                print("#", v.name, v.counts, v.budgets)
        for missing in set(wanted) - set(compilers):
            n += 1
            print(f"ok {n} - the kernels with {missing} # SKIP {missing} is not installed")
        for kernel in dict.fromkeys(v.kernel for v in done):
            problems = improved([v for v in done if v.kernel == kernel and v.cxx == compilers[0]])
            report(not problems, f"{kernel}: each version lowers the counters it names", "; ".join(problems))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"1..{n}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
