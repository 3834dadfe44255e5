#!/usr/bin/env python3
"""check_nfc.py: our normalisation form C against Hugging Face's `tokenizers`.

Every character alone, taken apart, after a letter and before a mark, and 20,000 random texts go through the test program
(test_nfc --lines). Prints TAP. Needs tokenizers. Environment: OBJ, the folder of the test programs.
"""
import os, random, subprocess, sys, unicodedata as u
from tokenizers.normalizers import NFC

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PROGRAM = os.path.join(os.environ.get("OBJ", os.path.join(TOP, "build/obj/gcc-release-solutions")), "common/model/tests/test_nfc")
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xd800 <= c < 0xe000 and c != 10]
CHANGING = [c for c in CHARACTERS if u.normalize("NFD", c) != c or u.combining(c)] + [chr(c) for c in range(0x1100, 0x1200)]
r = random.Random(11)
RANDOM = ["".join(r.choice(CHANGING) if r.random() < 0.7 else r.choice("aeouAEKq \u0915\u05d9") for _ in range(r.randrange(1, 25)))
          for _ in range(20000)]
SETS = {"every character": CHARACTERS, "every character, taken apart": [u.normalize("NFD", c) for c in CHARACTERS],
        "after a letter": ["a" + c for c in CHARACTERS], "between two marks": ["o\u0315" + c + "\u0323" for c in CHARACTERS],
        "random texts": RANDOM}
failed = 0
for n, (name, texts) in enumerate(SETS.items()):
    run = subprocess.run([PROGRAM, "--lines"], input="".join(t + "\n" for t in texts).encode(), stdout=subprocess.PIPE)
    got, nfc = run.stdout.decode().split("\n"), NFC()
    wrong = [t for t, g in zip(texts, got) if nfc.normalize_str(t) != g] if len(got) == len(texts) + 1 else ["another number of lines"]
    failed += bool(wrong)
    print("%sok %d - %s%s" % ("not " if wrong else "", n + 1, name, ": %d wrong, %r" % (len(wrong), wrong[:5]) if wrong else ""))
print("1..%d" % len(SETS))
sys.exit(1 if failed else 0)
