#!/usr/bin/env python3
"""test_detokenize.py: streaming detokenisation against Python's bytes.decode("utf-8", "replace").

The sequences go through the product's detokeniser as two tokens, cut at every place (test_tokenizer_golden --detokenize);
each cut must give the text that Python gives for the whole.
"""
import itertools, os, random, struct, subprocess, sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PROGRAM = os.path.join(os.environ.get("OBJ", os.path.join(TOP, "build/obj/gcc-release-solutions")),
                       "common/model/tests/test_tokenizer_golden")
# Both sides of every border in Unicode's table of well-formed sequences.
EDGES = bytes.fromhex("00 41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")
TEXTS = ["é", "€", "🙂", "👩‍💻", "\ufffd", "\U0010ffff", "\ud7ff", "\ue000", "a\u0301", "한"]


def frame(sequences):
    return b"".join(struct.pack("<I", len(s)) + s for s in sequences)


def unframe(data):
    at = 0
    while at < len(data):
        (n,) = struct.unpack_from("<I", data, at)
        yield data[at + 4:at + 4 + n]
        at += 4 + n


def streamed(sequences):
    run = subprocess.run([PROGRAM, "--detokenize"], input=frame(sequences), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode:
        raise SystemExit("%s: %s" % (PROGRAM, run.stderr.decode(errors="replace")))
    return list(unframe(run.stdout))


def short():
    return [bytes(t) for n in (1, 2, 3) for t in itertools.product(EDGES, repeat=n)]


def four_bytes():
    leads, rest = [0xe2, 0xf0, 0xf1, 0xf4], bytes.fromhex("41 80 8f 90 9f a0 bf c3 f0")
    return [bytes((lead,) + t) for lead in leads for n in (3, 4) for t in itertools.product(rest, repeat=n)]


def mixtures():
    rng = random.Random(20240611)
    out = []
    for _ in range(4000):
        s = b""
        while len(s) < rng.randrange(4, 24):
            piece = rng.choice(TEXTS).encode()
            s += rng.choice([piece, piece[:rng.randrange(1, len(piece) + 1)], bytes([rng.choice(EDGES)]), b"a"])
        out.append(s[:32])
    return out


n = failed = 0
for name, make in (("every one of up to three bytes on a border", short), ("four and five bytes", four_bytes),
                   ("mixtures of characters and their parts", mixtures)):
    sequences = make()
    got = streamed(sequences)
    wrong = [(s, g) for s, g in zip(sequences, got) if g != s.decode("utf-8", "replace").encode()]
    ok = len(got) == len(sequences) and not wrong
    n, failed = n + 1, failed + (not ok)
    detail = "" if ok else ": %d of %d; %s gave %r" % (len(wrong), len(sequences), wrong[0][0].hex() if wrong else "",
                                                       wrong[0][1] if wrong else b"")
    print("%sok %d - %s, cut at every place (%d)%s" % ("" if ok else "not ", n, name, len(sequences), detail))
print("1..%d" % n)
sys.exit(1 if failed else 0)
