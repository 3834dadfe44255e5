#!/usr/bin/env python3
"""test_mutants.py [all]: does every single-change mutant of the reference functions lose points?

mutate.py makes the mutants by rule; a fixed seed draws SAMPLE of them for `make test`, and `all` (or
MUTANTS=all; `make check-mutants`) takes every one. Mutants that don't compile, or compile to the very
same code, are none. A mutant that keeps full marks must be listed in survivors.txt with the reason why
that is right; one that isn't listed fails the test, and so does a listed one that is gone. TAP."""

import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import mutate

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
REFERENCE = os.path.join(TOP, "solutions/01_request_record")
SURVIVORS = os.path.join(TOP, "grader/tests/survivors.txt")
# which checks look at a file's functions; what keeps full marks there meets all checks, safety too
LOOKS_AT = {"intervals.c": "intervals", "classify.c": "quality", "percentile.c": "slo", "slo.c": "slo"}
SAMPLE, DRAW_SEED = 64, 1129
SEEDS = ["1", "2"]
CC = ["gcc", "-std=gnu17", "-O2", "-w", "-Werror=int-conversion", "-Werror=incompatible-pointer-types",
      "-D_GNU_SOURCE", "-I" + os.path.join(TOP, "common"), "-S", "-x", "c", "-", "-o", "-"]


def assembly(text):
    p = subprocess.run(CC, input=text.encode(), capture_output=True, check=False)
    return p.stdout if p.returncode == 0 else None


def keeps_full_marks(folder, seed, checks):
    args = [SERVELAB, "grade", "01", "--json", "--seed", seed]
    p = subprocess.run(args + (["--check", checks] if checks else []) + ["--", folder],
                       capture_output=True, stdin=subprocess.DEVNULL, timeout=900, check=False)
    if p.returncode not in (0, 1, 3):
        raise RuntimeError(f"exit status {p.returncode}: {p.stderr.decode()}")
    v = json.loads(p.stdout)
    assert (p.returncode == 0) == (v["points_earned"] == v["points_total"])
    return p.returncode == 0


def try_mutant(file, text, original):
    """'killed', 'survived', 'same code' or 'does not compile'."""
    code = assembly(text)
    if code is None:
        return "does not compile"
    if code == original:
        return "same code"
    folder = tempfile.mkdtemp(prefix="servelab-mutant-")
    try:
        for f in os.listdir(REFERENCE):
            if f.endswith((".c", ".json")):
                shutil.copy(os.path.join(REFERENCE, f), folder)
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            f.write(text)
        for checks in (LOOKS_AT[file], None):
            for seed in SEEDS:
                if not keeps_full_marks(folder, seed, checks):
                    return "killed"
        return "survived"
    finally:
        shutil.rmtree(folder)


def listed_survivors():
    out = {}
    with open(SURVIVORS, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, reason = line.rstrip("\n").split("\t")
                assert len(reason) > 10, line
                out[name] = reason
    return out


def main():
    everything = "all" in (os.environ.get("MUTANTS"), *sys.argv[1:])
    todo = []
    for file in LOOKS_AT:
        path = os.path.join(REFERENCE, file)
        original = assembly(open(path, encoding="utf-8").read())
        assert original, file
        todo += [(name, file, text, original) for name, text in mutate.mutants(path)]
    names = {t[0] for t in todo}
    listed = listed_survivors()
    if not everything:
        todo = random.Random(DRAW_SEED).sample(todo, SAMPLE)
    count, bad, n = {}, 0, 0
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
            note = " (not in survivors.txt)" if wrong and result == "survived" else ""
            note = " (but survivors.txt lists it)" if wrong and result == "killed" else note
            print(f"{'not ok' if wrong else 'ok'} {n} - {result}{note}: {name}".replace("#", "+"),
                  flush=True)
    gone = sorted(set(listed) - names)
    killed = count.get("killed", 0)
    for ok, what in [(not gone, f"survivors.txt lists mutants that exist {gone}"),
                     (killed >= 40, f"{killed} mutants lose points, at least 40")]:
        n += 1
        bad += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - {what}")
    print(f"1..{n}")
    print("of", len(todo), "mutants:", ", ".join(f"{v} {k}" for k, v in sorted(count.items())),
          file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
