"""hf_tokenizer.py: Hugging Face's `tokenizers` on the vocabulary and merges of a GGUF file.

The reader of the file is independent of the C code, and pre-tokenizers are built from the library's parts as in the
models' tokenizer files. Used by check_tokenizer_hf.py and ../bench/compare_tokenizer.py.
"""
import struct
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers as pt


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


# ---- SentencePiece's BPE ----------------------------------------------------------------------------------------------
BLANK = "\u2581"


class Spm:
    """A SentencePiece vocabulary through the library: a blank before each text, byte fallback, merges ordered by score."""

    def __init__(self, meta, special):
        texts = [t.decode() for t in meta["tokenizer.ggml.tokens"]]
        kinds, scores = meta["tokenizer.ggml.token_type"], meta["tokenizer.ggml.scores"]
        vocab = {s: i for i, s in enumerate(texts)}
        normal = {s for s, k in zip(texts, kinds) if k == 1}
        merges = [(-scores[vocab[s]], vocab[s[:i]], vocab[s[i:]], s[:i], s[i:]) for s in normal for i in range(1, len(s))
                  if s[:i] in normal and s[i:] in normal]
        self.t = Tokenizer(models.BPE(vocab=vocab, merges=[m[3:] for m in sorted(merges)], byte_fallback=True,
                                      unk_token=texts[kinds.index(2)], fuse_unk=True))
        self.t.normalizer = tokenizers.normalizers.Replace(" ", BLANK)
        self.bytes = [vocab["<0x%02X>" % b] for b in range(256)]
        self.special = {s.encode(): vocab[s] for s, k in zip(texts, kinds) if k == 4 or (special and k == 3)}

    def encode(self, line, segments):
        """Ids of a line that may be ill-formed; segments() cuts it at ill-formed bytes."""
        ids, start, at = [], 0, 0
        while at <= len(line):
            found = max((s for s in self.special if line.startswith(s, at)), key=len, default=None)
            if at == len(line) or found:
                if at > start:
                    for s in segments(b" " + line[start:at]):
                        ids += [self.bytes[s]] if isinstance(s, int) else self.t.encode(s, add_special_tokens=False).ids
                if found:
                    ids.append(self.special[found])
            start = at + len(found) if found else start
            at += len(found) if found else 1
        return ids


# ---- tokenizers ------------------------------------------------------------------------------------------------------
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
