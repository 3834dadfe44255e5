#!/usr/bin/env python3
"""test_mutants.py [all] [01] [02]: does every single-change mutant of the reference functions lose points?

mutate.py makes the mutants by rule; a fixed seed draws SAMPLE of them for `make test`, and `all` (or
MUTANTS=all; `make check-mutants`) takes every one. Mutants that don't compile, or compile to the very
same code, are none. A mutant that keeps full marks must be listed in labNN/survivors.txt with the reason why
that is right; one that isn't listed fails the test, and so does a listed one that is gone. TAP."""

# servelab-test: long
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
# Of each lab: its reference, how many mutants are drawn, and which checks look at a file's functions; what
# keeps full marks there meets all checks, safety too.
LABS = {
    "01": ("solutions/01_request_record", 64,
           {"intervals.c": "intervals", "classify.c": "quality", "percentile.c": "slo", "slo.c": "slo"}),
    "02": ("solutions/02_queue_sim", 64,
           {"analysis.c": "intervals,quality.shed,quality.truncated,quality.broken,quality.counts,quality.good",
            "capacity.c": "slo.limits,slo.infinite,slo.not_computable,slo.knee,slo.saturation,slo.regions,"
                          "slo.search_finds,slo.search_edges,slo.search_fails,slo.search_trace",
            "policy.c": "quality.keeps_rules,quality.keeps_cache,quality.starves_nobody,"
                        "quality.refuses_impossible,quality.batch_promises,quality.create_arguments,slo.batch_margin,"
                        "slo.batch_waits,slo.batch_starts,slo.goodput_margin,slo.goodput_admission,slo.goodput_chunking"}),
    "04": ("solutions/04_serving", 80,
           {"kv_blocks.c": "quality.kv_count,quality.kv_order,quality.kv_share,quality.kv_evict",
            "engine_step.c": "quality.tokens,quality.chunks,quality.preempt,quality.prefix,quality.cancel,"
                             "quality.fault,quality.odd_logits,quality.slow_reader,intervals.engine_events,slo.goodput_one,slo.goodput_static",
            "stamps.c": "intervals.stamp_kinds,intervals.stamp_times,intervals.stamp_once",
            "report.c": "intervals.attempt_intervals,intervals.attempt_lag,intervals.attempt_ended,intervals.attempt_server,"
                        "intervals.attempt_negative,intervals.attempt_resource,intervals.group_order,intervals.group_retry,"
                        "quality.attempt_reason,quality.counts,quality.group_twice,slo.window,slo.sums,slo.load,slo.limits,"
                        "slo.unmeasured,slo.recovery,slo.verdict,slo.regions"}),
}
DRAW_SEED = 1129
SEEDS = ["1", "2"]
CC = ["gcc", "-std=gnu17", "-O2", "-w", "-Werror=int-conversion", "-Werror=incompatible-pointer-types",
      "-D_GNU_SOURCE", "-I" + os.path.join(TOP, "common"), "-S", "-x", "c", "-", "-o", "-"]


def assembly(text):
    p = subprocess.run(CC, input=text.encode(), capture_output=True, check=False)
    return p.stdout if p.returncode == 0 else None


def keeps_full_marks(lab, folder, seed, checks):
    args = [SERVELAB, "grade", lab, "--json", "--seed", seed]
    p = subprocess.run(args + (["--check", checks] if checks else []) + ["--", folder],
                       capture_output=True, stdin=subprocess.DEVNULL, timeout=900, check=False)
    if p.returncode not in (0, 1, 3):
        raise RuntimeError(f"exit status {p.returncode}: {p.stderr.decode()}")
    v = json.loads(p.stdout)
    assert (p.returncode == 0) == (v["points_earned"] == v["points_total"])
    return p.returncode == 0


def try_mutant(lab, file, text, original):
    """'killed', 'survived', 'same code' or 'does not compile'."""
    code = assembly(text)
    if code is None:
        return "does not compile"
    if code == original:
        return "same code"
    folder = tempfile.mkdtemp(prefix="servelab-mutant-")
    try:
        reference, _, looks_at = LABS[lab]
        shutil.copytree(os.path.join(TOP, reference), folder, dirs_exist_ok=True)
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            f.write(text)
        for checks in (looks_at[file], None):
            for seed in SEEDS:
                if not keeps_full_marks(lab, folder, seed, checks):
                    return "killed"
        return "survived"
    finally:
        shutil.rmtree(folder)


def all_mutants(lab):
    """(name, lab, file, text, assembly of the reference) of every one."""
    reference, _, looks_at = LABS[lab]
    for file in looks_at:
        path = os.path.join(TOP, reference, file)
        with open(path, encoding="utf-8") as f:
            original = assembly(f.read())
        assert original, file
        for name, text in mutate.mutants(path):
            yield name, lab, file, text, original


def main():
    everything = "all" in (os.environ.get("MUTANTS"), *sys.argv[1:])
    labs = [lab for lab in LABS if lab in sys.argv[1:]] or list(LABS)
    listed = {name: reason for lab in labs for name, reason in mutate.listed_survivors(lab).items()}
    todo, names = [], set()
    for lab in labs:
        mutants = list(all_mutants(lab))
        names |= {m[0] for m in mutants}
        todo += mutants if everything else random.Random(DRAW_SEED).sample(mutants, LABS[lab][1])
    killed, count, bad, n = dict.fromkeys(labs, 0), {}, 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = {pool.submit(try_mutant, *t[1:]): t[:2] for t in todo}
        for future in concurrent.futures.as_completed(futures):
            (name, lab), result = futures[future], future.result()
            count[result] = count.get(result, 0) + 1
            if result in ("same code", "does not compile"):
                continue
            n += 1
            killed[lab] += result == "killed"
            wrong = (result == "survived") != (name in listed)
            bad += wrong
            note = " (not in survivors.txt)" if wrong and result == "survived" else ""
            note = " (but survivors.txt lists it)" if wrong and result == "killed" else note
            print(f"{'not ok' if wrong else 'ok'} {n} - {result}{note}: {name}".replace("#", "+"),
                  flush=True)
    gone = sorted(set(listed) - names)
    for ok, what in [(not gone, f"survivors.txt lists mutants that exist {gone}")] + [
            (killed[lab] >= 40, f"lab {lab}: {killed[lab]} mutants lose points, at least 40") for lab in labs]:
        n += 1
        bad += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - {what}")
    print(f"1..{n}")
    print("of", len(todo), "mutants:", ", ".join(f"{v} {k}" for k, v in sorted(count.items())),
          file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
