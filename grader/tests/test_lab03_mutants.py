#!/usr/bin/env python3
"""test_lab03_mutants.py [all]: does every single-change mutant of lab 03's reference lose points?

mutate.py makes the mutants by rule, of the kernels and of the two C files; a fixed seed draws some of each for
`make test`, and more of the kernels' and every one of the C files' with `all` (or MUTANTS=all; `make check-mutants`).
Mutants that don't compile, or compile to the very same code, are none. A mutant that keeps full marks must be listed in
lab03/survivors.txt with the reason why that is right; one that isn't listed fails the test. TAP."""

# servelab-test: long
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import tempfile

import mutate
from lab03_submission import REFERENCE, TOP, Submission

SIMTCC = os.path.join(TOP, "build/bin/simtcc")
DRAW_SEED = 1129
A_KERNEL, A_C_FILE = 1, 8  # drawn for `make test`
A_KERNEL_OF_ALL = 12
AT_LEAST = {False: 20, True: 80}
SEEDS = [1, 2]
# which checks look at a C file's functions
LOOKS_AT = {"kernel_time.c": "intervals", "kernel_compare.c": "compare"}
CC = ["gcc", "-std=gnu17", "-O2", "-w", "-Werror=int-conversion", "-Werror=incompatible-pointer-types", "-D_GNU_SOURCE",
      "-I" + os.path.join(TOP, "common"), "-c", "-g0"]


def code(file, text):
    """The object that the file becomes; None when it doesn't compile."""
    folder = tempfile.mkdtemp(prefix="servelab-mutant-")
    try:
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            f.write(text)
        compiler = CC if file.endswith(".c") else [SIMTCC, "-c", "-g0", "-w", "-I", os.path.join(TOP, "common")]
        p = subprocess.run([*compiler, file, "-o", "x.o"], cwd=folder, capture_output=True, check=False)
        if p.returncode:
            return None
        with open(os.path.join(folder, "x.o"), "rb") as f:
            return f.read()
    finally:
        shutil.rmtree(folder)


def try_mutant(file, text, original):
    """'killed', 'survived', 'same code' or 'does not compile'."""
    made = code(file, text)
    if made is None:
        return "does not compile"
    if made == original:
        return "same code"
    check = LOOKS_AT.get(file, file.split(".")[0])
    only = ["launch.json", *LOOKS_AT] if file in LOOKS_AT else ["launch.json", file]
    with Submission({file: text}, only=only) as s:
        for seed in SEEDS:
            if s.grade(check, seed=seed)["status"] != 0:
                return "killed"
    if file.endswith(".cu"):  # some kernels' safety is one check of several
        with Submission({file: text}) as s:
            if s.grade("safety.others")["status"] != 0:
                return "killed"
    return "survived"


def draw(everything):
    todo, names = [], set()
    for file in sorted(f for f in os.listdir(REFERENCE) if f.endswith((".c", ".cu"))):
        path = os.path.join(REFERENCE, file)
        with open(path, encoding="utf-8") as f:
            original = code(file, f.read())
        assert original, file
        made = [(name, file, text, original) for name, text in mutate.mutants(path)]
        names |= {m[0] for m in made}
        is_c = file.endswith(".c")
        if not (everything and is_c):
            n = A_KERNEL_OF_ALL if everything else A_C_FILE if is_c else A_KERNEL
            made = random.Random(DRAW_SEED).sample(made, n)
        todo += made
    return todo, names


def main():
    everything = "all" in (os.environ.get("MUTANTS"), *sys.argv[1:])
    todo, names = draw(everything)
    listed, count, bad, n = mutate.listed_survivors("03"), {}, 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = {pool.submit(try_mutant, *t[1:]): t[0] for t in todo}
        for future in concurrent.futures.as_completed(futures):
            name, result = futures[future], future.result()
            count[result] = count.get(result, 0) + 1
            if result in ("same code", "does not compile"):
                continue
            n += 1
            wrong = (result == "survived") != (name in listed)
            bad += wrong
            note = " (not in lab03/survivors.txt)" if wrong and result == "survived" else ""
            note = " (but lab03/survivors.txt lists it)" if wrong and result == "killed" else note
            print(f"{'not ok' if wrong else 'ok'} {n} - {result}{note}: {name}".replace("#", "+"), flush=True)
    gone = sorted(set(listed) - names)
    killed = count.get("killed", 0)
    for ok, what in [(not gone, f"lab03/survivors.txt lists mutants that exist {gone}"),
                     (killed >= AT_LEAST[everything], f"{killed} mutants lose points, at least {AT_LEAST[everything]}")]:
        n += 1
        bad += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - {what}")
    print(f"1..{n}")
    print("of", len(todo), "mutants:", ", ".join(f"{v} {k}" for k, v in sorted(count.items())), file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
