#!/usr/bin/env python3
"""print_mistakes.py [-k]: what the grader says about each planted mistake (mistakes.py), numbered and without its name, for a
reader who is to name the cause. -k prints the key: number and cause."""

import random
import subprocess
import sys

from mistakes import MISTAKES, SERVELAB, TOP, grade, said


def stale():
    """Whether the program in build/bin is missing or older than its sources."""
    program = "build/bin/servelab"
    return SERVELAB.endswith(program) and subprocess.run(["make", "-q", "-C", TOP, program], capture_output=True, check=False).returncode != 0


def main():
    if "-k" not in sys.argv[1:] and stale():
        sys.exit("build/bin/servelab is missing or older than its sources: run make build")
    order = list(MISTAKES)
    random.Random(7).shuffle(order)
    for i, m in enumerate(order, 1):
        if "-k" in sys.argv[1:]:
            print(f"{i:2}  {m.name}")
        else:
            print(f"---- {i} ---- lab {m.lab}, {m.check}\n{said(grade(m)[1], m.check)}\n", flush=True)


if __name__ == "__main__":
    main()
