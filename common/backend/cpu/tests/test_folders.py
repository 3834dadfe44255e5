#!/usr/bin/env python3
"""test_folders.py: the native backend on small Hugging Face folders, and on the same models as GGUF files, against
committed logits of transformers.

check_folders_hf.py makes and rechecks golden/folders.json. Environment: OBJ, the folder of the test programs.
"""
import json, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "model", "tests"))
import small_folder

PROGRAM = os.path.join(os.environ["OBJ"], "common/backend/cpu/tests/test_golden")
TOLERANCE = 1e-4  # of the greatest logit; the agreement is better than 3e-6


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
    golden = json.load(open(os.path.join(HERE, "golden", "folders.json")))
    assert golden["schema"] == "servelab.golden-folders.v1" and set(golden["logits"]) == set(small_folder.VARIANTS)
    n = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        for name, want in golden["logits"].items():
            folder = os.path.join(tmp, name)
            small_folder.write(folder, name)
            small_folder.write_gguf(folder + ".gguf", name)
            for path in (folder, folder + ".gguf"):
                ok, said = compare(path, name, want)
                n, failed = n + 1, failed + (not ok)
                print(f"{'' if ok else 'not '}ok {n} - {os.path.basename(path)} {said}")
    print(f"1..{n}")
    return 1 if failed else 0


sys.exit(main())
