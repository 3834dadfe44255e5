#!/usr/bin/env python3
"""check_tokenizer_hf.py [--write]: words and ids of Hugging Face's `tokenizers` on the lines of text_lines.h.

Compares them with golden/tokenizer.json, which test_tokenizer_golden.c compares ours with, and prints TAP; with --write
makes that file anew (entries of vocabularies that aren't here are kept). Vocabularies and merges come from the same GGUF
files, read here by other code; pre-tokenizers are put together from the library's own parts as the models' tokenizer
files state them. What the library can't be given: ill-formed UTF-8. There the lines are cut by our documented rule
(each byte outside a well-formed character alone), and the pieces are compared.

Environment: OBJ, where the test programs stand; SERVELAB_DATA, the shared test data.
"""
import hashlib, json, os, struct, subprocess, sys
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers as pt

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
GOLDEN = os.path.join(HERE, "golden", "tokenizer.json")
DATA = os.environ.get("SERVELAB_DATA", os.path.join(TOP, "..", "shared", "data"))
FILES = {
    "tiny": os.path.join(TOP, "common/model/embedded/servelab-tiny.gguf"),
    "smollm2": os.path.join(TOP, "build/models/smollm2.gguf"),
    "gpt-2": os.path.join(DATA, "tokenizers/ggml-vocab-gpt-2.gguf"),
    "starcoder": os.path.join(DATA, "tokenizers/ggml-vocab-starcoder.gguf"),
    "deepseek-llm": os.path.join(DATA, "tokenizers/ggml-vocab-deepseek-llm.gguf"),
}
SEED, SAMPLE = 20240229, 60


# ---- reading GGUF metadata, apart from our C -------------------------------------------------------------------------
def read_metadata(path):
    """Metadata by key. Only what a vocabulary needs; a wrong file raises."""
    with open(path, "rb") as f:
        def number(fmt):
            return struct.unpack("<" + fmt, f.read(struct.calcsize("<" + fmt)))[0]

        def value(kind):
            if kind == 8:
                return f.read(number("Q"))
            if kind == 9:
                element, count = number("I"), number("Q")
                return [value(element) for _ in range(count)]
            return number({0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}[kind])

        assert f.read(4) == b"GGUF" and number("I") in (2, 3)
        number("Q")
        return {f.read(number("Q")).decode(): value(number("I")) for _ in range(number("Q"))}


# ---- pre-tokenizers from the library's parts -------------------------------------------------------------------------
def split(pattern):
    return pt.Split(Regex(pattern), "isolated")


BYTES = pt.ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = pt.ByteLevel(add_prefix_space=False, use_regex=True)
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
# The letters of deepseek-llm's second pattern, as inclusive ranges of code points.
CASED = """41-5a 61-7a b5 c0-d6 d8-f6 f8-1ba 1bc-1bf 1c4-293 295-2af 370-373 376-377 37b-37d 37f 386 388-38a 38c 38e-3a1
3a3-3f5 3f7-481 48a-52f 531-556 10a0-10c5 13a0-13f5 13f8-13fd 1c90-1cba 1cbd-1cbf 1d00-1d2b 1d6b-1d77 1d79-1d9a 1e00-1f15
1f18-1f1d 1f20-1f45 1f48-1f4d 1f50-1f57 1f59 1f5b 1f5d 1f5f-1f7d 1f80-1fb4 1fb6-1fbc 1fbe 1fc2-1fc4 1fc6-1fcc 1fd0-1fd3
1fd6-1fdb 1fe0-1fec 1ff2-1ff4 1ff6-1ffc 2102 2107 210a-2113 2115 2119-211d 2124 2126 2128 212a-212d 212f-2134 2139
213c-213f 2145-2149 214e 2183-2184 2c00-2c7b 2c7e-2ce4 2ceb-2cee 2cf2-2cf3 a640-a66d a680-a69b a722-a76f a771-a787
a78b-a78e ab70-abbf fb00-fb06 fb13-fb17 ff21-ff3a ff41-ff5a 10400-1044f 104b0-104d3 104d8-104fb 10c80-10cb2 10cc0-10cf2
118a0-118df 1e900-1e943"""
CASED = "".join("-".join(r"\x{%s}" % end for end in r.split("-")) for r in CASED.split())
PRE = {
    "gpt-2": GPT2,
    "smollm": pt.Sequence([pt.Digits(individual_digits=True), GPT2]),
    "starcoder": pt.Sequence([pt.Digits(individual_digits=True), GPT2]),
    "llama-bpe": pt.Sequence([split(LLAMA3.replace("DIGITS", r"\p{N}{1,3}")), BYTES]),
    "qwen2": pt.Sequence([split(LLAMA3.replace("DIGITS", r"\p{N}")), BYTES]),
    "deepseek-llm": pt.Sequence([
        split(r"[\r\n]"), split(r"\s?[" + CASED + "]+"),
        split(r"\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+"), split(r"\s+$"),
        split(r"[\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+"), pt.Digits(individual_digits=True), BYTES]),
}


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


def make_tokenizer(meta, special):
    texts = [t.decode() for t in meta["tokenizer.ggml.tokens"]]
    merges = [tuple(m.decode().split(" ")) for m in meta["tokenizer.ggml.merges"]]
    kinds = meta.get("tokenizer.ggml.token_type", [1] * len(texts))
    t = Tokenizer(models.BPE(vocab={s: i for i, s in enumerate(texts)}, merges=merges))
    t.pre_tokenizer = PRE[meta["tokenizer.ggml.pre"].decode()]
    t.add_tokens([AddedToken(s, normalized=False) for s, k in zip(texts, kinds) if k == 4])
    if special:
        t.add_special_tokens([AddedToken(s, normalized=False) for s, k in zip(texts, kinds) if k == 3])
    return t


def byte_ids(meta):
    """The id of each byte's ordinary token, or None (deepseek-llm has added words that look like byte tokens)."""
    texts = meta["tokenizer.ggml.tokens"]
    kinds = meta.get("tokenizer.ggml.token_type", [1] * len(texts))
    vocab = {t.decode(): i for i, (t, k) in enumerate(zip(texts, kinds)) if k == 1}
    visible = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    hidden = [b for b in range(256) if b not in visible]
    return [vocab.get(chr(b) if b in visible else chr(256 + hidden.index(b))) for b in range(256)]


def encode_lines(meta, special, lines):
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
