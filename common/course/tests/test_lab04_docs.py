#!/usr/bin/env python3
"""test_lab04_docs.py: lab 04's figure and table of vertical and horizontal scaling are what the simulator says. TAP."""

import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
SCRIPT = os.path.join(TOP, "common/course/draw_scaling.py")
LAB = os.path.join(TOP, "solutions/04_serving")


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def main():
    with tempfile.TemporaryDirectory() as work:
        made = subprocess.run([sys.executable, SCRIPT, work], capture_output=True, text=True, timeout=600)
        same = made.returncode == 0 and read(work, "scaling.svg") == read(LAB, "scaling.svg")
    shown = re.search(r"<!-- TABLE: common/course/draw_scaling.py -->\n(.*?)<!-- END TABLE -->", read(LAB, "README.md"), re.S)
    ok = shown is not None and shown.group(1).strip() == made.stdout.strip()
    print(f"{'ok' if same else 'not ok'} 1 - the figure is what the simulator says; run common/course/draw_scaling.py")
    print(f"{'ok' if ok else 'not ok'} 2 - and so is the handout's table\n1..2")
    return 0 if same and ok else 1


if __name__ == "__main__":
    sys.exit(main())
