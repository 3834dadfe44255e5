#!/usr/bin/env python3
"""test_attack.py: `make attack` (attack.py) sees each kind of fault. In the grader's place stands a program that commits one. TAP."""

import json
import os
import shutil
import sys
import tempfile
import traceback

import attack

GOOD = {"problem": "", "checks": [
    {"id": "slo.percentile_rank", "outcome": "lost", "points": 3, "message": "it was ended by SIGABRT", "cases_right": 0},
    {"id": "intervals.rounding", "outcome": "earned", "points": 2, "message": ""},
    {"id": "slo.strict", "outcome": "earned", "points": 2, "message": ""}]}

# A grader: finds --format's file and whether the seed is hidden, commits a fault, writes the verdict.
PROGRAM = """#!/usr/bin/env python3
import json, os, subprocess, sys, time
at = sys.argv.index("--format")
out = sys.argv[at + 1].split("json=")[1]
hidden = open(sys.argv[sys.argv.index("--seed-file") + 1]).read() if "--seed-file" in sys.argv else ""
v = {GOOD}
watch, status = v["checks"][0], 1
{FAULT}
json.dump(v, open(out, "w"))
print("points")
sys.exit(status)
"""

FAULTS = {
    "": ("pass", None),
    "points": ('watch["outcome"] = "earned"', "unearned"),
    "all points": ('watch["outcome"] = "earned"; status = 0', "unearned"),
    "another file's points": ('v["checks"][1]["outcome"] = "lost"', "other"),
    "another message": ('watch["message"] = "no"', "other"),
    "a hang": ("time.sleep(60)", "hangs"),
    "a crash": ("os.abort()", "crashes"),
    "its own fault": ("status = 4", "crashes"),
    "no verdict": ("sys.exit(1)", "crashes"),
    "a file": ('os.mkdir(os.environ["TMPDIR"] + "/servelab-grade-" + str(os.getpid()))', "leftovers"),
    "a process": ('subprocess.Popen(["sleep", "50"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)',
                  "leftovers"),
    "the seed": ("print(hidden)", "leaks"),
    "a count": ('watch["cases_right"] = len(hidden)', "leaks"),
    "a message": ('watch["message"] += hidden[:2]', "leaks"),
    "a warning": ('v["problem"] = hidden[:2]', "leaks"),
    "a field": ('if hidden.startswith("the"): watch["got"] = "1"', "leaks"),
    "an outcome and a kind": ('watch["kind"] = hidden[:3]; v["checks"][2]["outcome"] = "lost" if hidden.startswith("the") else "earned"',
                              None),
    "a forged line": ('print("score: 100")', "other"),
}


def found(fault):
    folder = tempfile.mkdtemp(prefix="servelab-test-")
    program = os.path.join(folder, "servelab")
    with open(program, "w", encoding="utf-8") as f:
        f.write(PROGRAM.replace("{GOOD}", repr(GOOD)).replace("{FAULT}", fault))
    os.chmod(program, 0o755)
    attack.SERVELAB, attack.SLOWEST_S = program, 20
    try:
        results = []
        attack.run_all([a for a in attack.corpus("01", "01/abort")], 1, results.append)
        return sorted({kind for kind, _ in results[0]["found"]}), results[0]
    finally:
        shutil.rmtree(folder)


def main():
    failed = 0
    for n, (name, (fault, kind)) in enumerate(FAULTS.items(), 1):
        try:
            kinds, result = found(fault)
            assert kinds == ([kind] if kind else []), (kinds, result)
            json.dumps(result)
            assert attack.table([result])[1].startswith("01/abort.c")
        except Exception:  # every failure is a line of the report
            failed += 1
            traceback.print_exc()
            print("not ", end="")
        print(f"ok {n} - {name or 'a grader without a fault'}", flush=True)
    corpus = attack.corpus()
    enough = len(corpus) >= attack.LEAST and all(a.tries and a.expected() for a in corpus)
    print(f"{'ok' if enough else 'not ok'} {len(FAULTS) + 1} - {len(corpus)} attacks, each with what it tries and what must become of it")
    print(f"1..{len(FAULTS) + 1}")
    return failed > 0 or not enough


if __name__ == "__main__":
    sys.exit(main())
