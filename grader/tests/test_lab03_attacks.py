#!/usr/bin/env python3
"""test_lab03_attacks.py [NAME...]: hostile and broken kernel files get no point of copy's, a message with the reason, and do not hang.

lab03/attacks/NAME.cu is handed in as copy.cu. Its comment says `expect: TEXT`: one of the texts (parted by |) stands in
what the grader says; `points: N` where it isn't 0, for those that are right and only hope to be counted less; and
`hooks: compiler` for those that are graded as if clang weren't there. TAP.
"""

# servelab-test: waits long
import concurrent.futures
import glob
import os
import re
import sys
import time

from lab03_submission import REFERENCE, TOP, Submission

FOLDER = os.path.join(TOP, "grader/tests/lab03/attacks")
SLOWEST_S = 60  # on a busy machine; an endless launch is ended after eight


def said(verdict):
    return " ".join(str(c.get(k) or "") for c in verdict["checks"] for k in ("message", "printed")) + " " + \
        str(verdict.get("problem") or "")


def attack(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    expected = re.search(r"expect: (.*)", text).group(1).split("|")
    started = time.monotonic()
    with Submission({"copy.cu": text}, only=["launch.json"], launch={"copy": {"grid": ["ceil(n, 256)"], "block": [256]}}) as s:
        v = s.grade("copy", hooks="compiler" if "hooks: compiler" in text else None)
    seconds = time.monotonic() - started
    problems = []
    points = re.search(r"points: (\d+)", text)
    if v["points_earned"] != (int(points.group(1)) if points else 0):
        problems.append(f"earned {v['points_earned']} points")
    if not any(e in said(v) for e in expected):
        problems.append(f"says: {said(v)[:400]}")
    if seconds > SLOWEST_S:
        problems.append(f"took {seconds:.0f} s")
    return "; ".join(problems)


def main():
    paths = sorted(glob.glob(os.path.join(FOLDER, "*.cu")))
    if sys.argv[1:]:
        paths = [p for p in paths if os.path.basename(p)[:-3] in sys.argv[1:]]
    assert os.path.isdir(REFERENCE)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for n, (path, why) in enumerate(zip(paths, pool.map(attack, paths)), 1):
            failed += bool(why)
            print(f"{'not ok' if why else 'ok'} {n} - {os.path.basename(path)[:-3]}{': ' + why if why else ''}", flush=True)
    enough = bool(sys.argv[1:]) or len(paths) >= 45
    failed += not enough
    print(f"{'ok' if enough else 'not ok'} {len(paths) + 1} - {len(paths)} attacks")
    print(f"1..{len(paths) + 1}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
