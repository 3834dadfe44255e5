#!/usr/bin/env python3
"""test_cuda_folders.py: the CUDA backend on the CPU, --precision exact, on small Hugging Face folders of every variant, against
committed logits of transformers (cpu/tests/golden/folders.json), sliding windows among them.

Environment: OBJ, the folder of the test programs.
"""
import json, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "model", "tests"))
import small_folder

PROGRAM = os.path.join(os.environ["OBJ"], "common/backend/cuda/tests/test_cuda")
TOLERANCE = 1e-4  # of the greatest logit


def compare(path, name, want):
    """Whether it agrees, and what to say."""
    p = subprocess.run([PROGRAM, "--logits", path, *map(str, small_folder.tokens(name))], capture_output=True, text=True,
                       timeout=120)
    rows = [[float(v) for v in row.split()] for row in p.stdout.splitlines()]
    got = [rows[i] for i in small_folder.POSITIONS] if len(rows) == small_folder.TOKENS else []
    most = max(abs(v) for row in want for v in row)
    worst = max((abs(x - y) / most if x == x else 9 for a, b in zip(got, want) for x, y in zip(a, b)), default=9)
    return worst <= TOLERANCE and [len(r) for r in got] == [len(r) for r in want], f"differs by {worst:.1e}; {p.stderr.strip()}"


def main():
    golden = json.load(open(os.path.join(HERE, "..", "..", "cpu", "tests", "golden", "folders.json")))
    failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        for n, (name, want) in enumerate(golden["logits"].items(), 1):
            small_folder.write(os.path.join(tmp, name), name)
            ok, said = compare(os.path.join(tmp, name), name, want)
            failed += not ok
            print(f"{'' if ok else 'not '}ok {n} - {name} {said}")
    print(f"1..{len(golden['logits'])}")
    return 1 if failed else 0


sys.exit(main())
