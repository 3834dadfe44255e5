#!/usr/bin/env python3
"""test_mistakes.py [name]: each usual mistake (mistakes.py) loses its check, and the message leads to the cause. TAP."""

# servelab-test: long
import concurrent.futures
import os
import sys

from mistakes import MISTAKES, TOP, grade, said


def main():
    chosen = [m for m in MISTAKES if len(sys.argv) < 2 or sys.argv[1] in m.name]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for i, (m, (status, verdict)) in enumerate(zip(chosen, pool.map(grade, chosen)), 1):
            text = said(verdict, m.check)
            missing = [w for w in [m.file, *m.says] if w not in text]
            ok = status == 1 and not missing
            bad += not ok
            print(f"{'ok' if ok else 'not ok'} {i} - {m.name}: {m.check}", flush=True)
            if not ok:
                print(f"# exit status {status}, doesn't say {missing}; says:\n# " + text.replace("\n", "\n# "), flush=True)
    with open(os.path.join(TOP, "grader/README.md"), encoding="utf-8") as f:
        page = f.read()
    missing = [m.name for m in MISTAKES if f"| {m.name} | `{m.file}` | `{m.check}` |" not in page]
    bad += bool(missing)
    print(f"{'not ok' if missing else 'ok'} {len(chosen) + 1} - grader/README.md lists each mistake {missing or ''}")
    print(f"1..{len(chosen) + 1}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
