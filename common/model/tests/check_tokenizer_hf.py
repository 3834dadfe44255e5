#!/usr/bin/env python3
"""check_tokenizer_hf.py [--write]: words and ids of Hugging Face's `tokenizers` on the lines of text_lines.h.

Compares them with golden/tokenizer.json, which test_tokenizer_golden.c compares ours with, and prints TAP; with --write
makes that file anew (entries of vocabularies that aren't here are kept). hf_tokenizer.py makes the library's tokenizers.
The library doesn't take ill-formed UTF-8: there the lines are cut by the documented rule (each byte outside a
well-formed character alone), and the pieces are compared.

Environment: OBJ, the folder of the test programs; SERVELAB_DATA, the shared test data.
"""
import hashlib, json, os, struct, subprocess, sys
import tokenizers
from hf_tokenizer import PRE, Spm, byte_ids, make_tokenizer, read_metadata

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
GOLDEN = os.path.join(HERE, "golden", "tokenizer.json")
DATA = os.environ.get("SERVELAB_DATA", os.path.join(TOP, "..", "shared", "data"))
FILES = {
    "tiny": os.path.join(TOP, "common/model/embedded/servelab-tiny.gguf"),
    "smollm2": os.path.join(TOP, "build/models/smollm2.gguf"),
    "gpt-2": os.path.join(DATA, "tokenizers/ggml-vocab-gpt-2.gguf"),
    "starcoder": os.path.join(DATA, "tokenizers/ggml-vocab-starcoder.gguf"),
    "llama-spm": os.path.join(DATA, "tokenizers/ggml-vocab-llama-spm.gguf"),
    "deepseek-llm": os.path.join(DATA, "tokenizers/ggml-vocab-deepseek-llm.gguf"),
}
SEED, SAMPLE = 20240229, 60


# ---- lines, and our rule for ill-formed UTF-8 ------------------------------------------------------------------------
def read_lines():
    program = os.path.join(os.environ.get("OBJ", os.path.join(TOP, "build/obj/gcc-release-solutions")),
                           "common/model/tests/test_tokenizer_golden")
    data = subprocess.run([program, "--lines"], check=True, stdout=subprocess.PIPE).stdout
    lines, at = [], 0
    while at < len(data):
        (n,) = struct.unpack_from("<I", data, at)
        lines.append(data[at + 4:at + 4 + n])
        at += 4 + n
    return lines, hashlib.sha256(data).hexdigest()


def segments(line):
    """Strings of well-formed characters, and the bytes between them as ints."""
    out, good, i = [], "", 0
    while i < len(line):
        for n in (1, 2, 3, 4):
            try:
                good += line[i:i + n].decode()
                i += n
                break
            except UnicodeDecodeError:
                pass
        else:
            out += [good, line[i]]
            good = ""
            i += 1
    return [s for s in out + [good] if s != ""]


class Digest:
    def __init__(self):
        self.sha = hashlib.sha256()

    def add(self, numbers):
        self.sha.update(struct.pack("<%di" % (len(numbers) + 1), len(numbers), *numbers))


# ---- the library's words and ids -------------------------------------------------------------------------------------
def words_digest(pre, lines):
    d = Digest()
    for line in lines:
        lengths = []
        for s in segments(line):
            lengths += [1] if isinstance(s, int) else [len(w) for w, _ in pre.pre_tokenize_str(s)]
        d.add(lengths)
    return d.sha.hexdigest()


def encode_lines(meta, special, lines):
    if meta["tokenizer.ggml.model"] == b"llama":
        spm = Spm(meta, special)
        yield from (spm.encode(line, segments) for line in lines)
        return
    t, alone = make_tokenizer(meta, special), byte_ids(meta)
    for line in lines:
        ids = []
        for s in segments(line):
            if isinstance(s, int):
                ids += [] if alone[s] is None else [alone[s]]
            else:
                ids += t.encode(s, add_special_tokens=False).ids
        yield ids


def compute(lines, digest):
    out = {"schema": "servelab.tokenizer-golden.v1",
           "made_by": "common/model/tests/check_tokenizer_hf.py --write, tokenizers " + tokenizers.__version__,
           "digest": "SHA-256 over, for each line, the count and the numbers as little-endian int32",
           "seed": SEED, "lines": len(lines), "lines_sha256": digest,
           "words": {name: words_digest(pre, lines) for name, pre in PRE.items()}, "ids": {}, "sample": []}
    short = [i for i, line in enumerate(lines) if 0 < len(line) < 48]
    chosen = short[::max(1, len(short) // SAMPLE)][:SAMPLE]
    for i in chosen:
        row = {"line": i}
        try:
            row["text"] = lines[i].decode()
        except UnicodeDecodeError:
            row["hex"] = lines[i].hex()
        out["sample"].append(dict(row, ids={}))
    for name, path in FILES.items():
        if not os.path.exists(path):
            continue
        meta, out["ids"][name] = read_metadata(path), {}
        for mode in ("ordinary", "special"):
            d = Digest()
            for i, ids in enumerate(encode_lines(meta, mode == "special", lines)):
                d.add(ids)
                if mode == "ordinary" and i in chosen:
                    out["sample"][chosen.index(i)]["ids"][name] = ids
            out["ids"][name][mode] = d.sha.hexdigest()
    return out


# ---- verdicts --------------------------------------------------------------------------------------------------------
def keep_absent(new, old):
    """Entries of vocabularies that aren't on this machine stay as they were, if the lines are the same."""
    if old.get("lines_sha256") != new["lines_sha256"]:
        return
    for name, value in old["ids"].items():
        if name not in new["ids"]:
            new["ids"][name] = value
            for a, b in zip(new["sample"], old["sample"]):
                if name in b["ids"]:
                    a["ids"][name] = b["ids"][name]


def write(golden):
    sample = golden.pop("sample")
    text = json.dumps(golden, ensure_ascii=True, indent=1)[:-2]
    rows = ",\n  ".join(json.dumps(r, ensure_ascii=True) for r in sample)
    with open(GOLDEN, "w") as f:
        f.write(text + ',\n "sample": [\n  ' + rows + "\n ]\n}\n")


def main():
    new = compute(*read_lines())
    old = json.load(open(GOLDEN)) if os.path.exists(GOLDEN) else {}
    if sys.argv[1:] == ["--write"]:
        keep_absent(new, old)
        write(new)
        return 0
    n = failed = 0

    def tap(ok, name, skip=""):
        nonlocal n, failed
        n, failed = n + 1, failed + (not ok)
        print("%sok %d - %s%s" % ("" if ok else "not ", n, name, skip))

    tap(new["lines_sha256"] == old.get("lines_sha256"), "the lines are those of the golden file")
    for name, value in new["words"].items():
        tap(value == old.get("words", {}).get(name), "tokenizers: words, " + name)
    for name in old.get("ids", {}):
        if name not in new["ids"]:
            tap(True, "tokenizers: ids, " + name, " # SKIP its vocabulary isn't here")
            continue
        for mode, value in new["ids"][name].items():
            tap(value == old["ids"][name].get(mode), "tokenizers: ids, %s, %s" % (name, mode))
    for a, b in zip(new["sample"], old.get("sample", [])):
        if any(a["ids"][k] != b["ids"].get(k) for k in a["ids"]):
            tap(False, "tokenizers: the sample, line %d" % a["line"])
    print("1..%d" % n)
    return 1 if failed else 0


sys.exit(main())
