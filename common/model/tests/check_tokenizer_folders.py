#!/usr/bin/env python3
"""check_tokenizer_folders.py [--write]: small tokenizers of every supported kind, and the ids of the libraries.

golden/tokenizers.json has tokenizer.json files (SentencePiece-type and byte-level BPE) with the ids that Hugging Face's
`tokenizers` gives, and a SentencePiece vocabulary with scores, as GGUF files have it, with the ids that `sentencepiece`
gives. test_tokenizer_folders.py compares ours with them on every machine. Without arguments the committed ids are computed
again, and ours are compared on random texts too (TAP); --write trains the tokenizers anew on this project's own text.

Needs tokenizers and sentencepiece. Environment: SERVELAB.
"""
import json, os, random, sys, tempfile
import sentencepiece, tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from test_tokenizer_folders import GOLDEN, SENTENCEPIECE, ours, read_golden, write_folder
from hf_tokenizer import LLAMA3

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
BLANK = "\u2581"
TEXTS = ["", " ", "  ", "a", "Hello", " Hello", "  Hello world ", "the server and the engine", "one\ntwo\n\n three\t4",
         "1234567890 tokens in 12.5 ms", "it's we'LL don't", "\u2581", "a\u2581b", "caf\u00e9 \u4f60\u597d \U0001f999\u200d", "\x00\x07\x7f",
         "e\u0301 \u00e9", "(((a)))[[b]]", "if (x == 3) { return -1; }", "aaaaaaaaaaaaaaaaaaaa",
         "                 x", "\r\n\r\n  \r\n", "TTFT TPOT KV-block", "\u0430\u0431\u0432 \u05d0\u05d1\u05d2 \u0661\u0662\u0663"]
NORMALISED = ["cafe\u0301 e\u0323\u0301 e\u0301\u0323 \u1e9b\u0323", "\u1112\u1161\u11ab\u1100\u1173\u11af \uac00\u11a8", "\u212b\u2126\u212a",
              "\u0958 \u0915\u093c", "e<s>\u0301 e[INST]\u0301", "\u0301\u0301", "\uf900 \u0344 \ufb1d", "a\u0315\u0300\u05ae\u0062", "e\u200d\u0301 1\u0301"]
SPECIAL = ["<s>Hello", "a<s>b</s> c", "<s> <s>", "x [INST] y", "</s>"]


# ---- making tokenizers -----------------------------------------------------------------------------------------------
def own_text():
    files = ("README.md", "common/README.md", "common/DEFINITIONS.md", ".github/CONTRIBUTING.md")
    return [line for f in files for line in open(os.path.join(TOP, f)).read().split("\n") if line]


def train_sentencepiece(tmp):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(own_text()), model_prefix=tmp + "/m", vocab_size=620, model_type="bpe", byte_fallback=True,
        split_digits=True, normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=1.0,
        allow_whitespace_only_pieces=True, minloglevel=2)
    return open(tmp + "/m.model", "rb").read()


def pieces_of(raw):
    sp = sentencepiece.SentencePieceProcessor(model_proto=raw)
    ids = range(sp.vocab_size())
    kinds = [3 if sp.is_control(i) else 2 if sp.is_unknown(i) else 6 if sp.is_byte(i) else 1 for i in ids]
    return [[sp.id_to_piece(i), sp.get_score(i), k] for i, k in zip(ids, kinds)]


def of_pieces(pieces, normalizer, pre):
    """As transformers converts a SentencePiece model: every way to cut a piece into two, by score."""
    vocab = {p: i for i, (p, _, _) in enumerate(pieces)}
    normal = {p for p, _, k in pieces if k == 1}
    merges = sorted((-pieces[vocab[p]][1], vocab[p[:i]], vocab[p[i:]], p[:i], p[i:]) for p in normal for i in range(1, len(p))
                    if p[:i] in normal and p[i:] in normal)
    t = Tokenizer(models.BPE(vocab=vocab, merges=[m[3:] for m in merges], byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.add_special_tokens([AddedToken(s, normalized=False) for s in ("<unk>", "<s>", "</s>", "[INST]")])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", vocab["<s>"])])
    return t


def byte_level(pre, normalizer=None, ignore_merges=False, bos=False):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    t.pre_tokenizer = pre
    if normalizer:
        t.normalizer = normalizer
    t.train_from_iterator(own_text(), trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                          show_progress=False))
    t.add_special_tokens([AddedToken(s, normalized=False) for s in ("<s>", "</s>", "[INST]")])
    t.add_tokens([AddedToken("servelab", normalized=False)])
    byte = processors.ByteLevel(trim_offsets=False)
    before = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", t.token_to_id("<s>"))])
    t.post_processor = processors.Sequence([byte, before]) if bos else byte
    return t


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def make():
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    with tempfile.TemporaryDirectory() as tmp:
        raw = train_sentencepiece(tmp)
    pieces, replace = pieces_of(raw), normalizers.Replace(" ", BLANK)
    pieces.append(["[INST]", 0.0, 3])
    prepend = normalizers.Sequence([normalizers.Prepend(BLANK), replace])
    meta = lambda scheme: pre_tokenizers.Metaspace(replacement=BLANK, prepend_scheme=scheme, split=False)
    tokenizers_ = {
        "spm-each": of_pieces(pieces, prepend, None), "spm-none": of_pieces(pieces, replace, None),
        "spm-first": of_pieces(pieces, None, meta("first")), "spm-always": of_pieces(pieces, None, meta("always")),
        "gpt-2": byte_level(gpt2), "smollm": byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), gpt2])),
        "llama-bpe": byte_level(split(LLAMA3.replace("DIGITS", r"\p{N}{1,3}")), ignore_merges=True, bos=True),
        "qwen2": byte_level(split(LLAMA3.replace("DIGITS", r"\p{N}")), normalizers.NFC())}
    sp = sentencepiece.SentencePieceProcessor(model_proto=raw)
    folders, models_ = {k: {"tokenizer": json.loads(t.to_str()), "texts": ids_of(t)} for k, t in tokenizers_.items()}, []
    for v in folders.values():  # each model once
        model = v["tokenizer"]["model"]
        if model not in models_:
            models_.append(model)
        v["tokenizer"]["model"] = models_.index(model)
    return {"schema": "servelab.golden-tokenizers.v1",
            "made_by": f"check_tokenizer_folders.py --write, tokenizers {tokenizers.__version__}, sentencepiece {sentencepiece.__version__}",
            "models": models_, "folders": folders,
            SENTENCEPIECE: {"pieces": pieces, "texts": [[s, sp.encode(s)] for s in TEXTS]}}


def ids_of(t):
    nfc = t.normalizer is not None and "NFC" in type(t.normalizer).__name__
    texts = TEXTS + SPECIAL + (NORMALISED if nfc else [])
    return [[s, t.encode(s, add_special_tokens=False).ids] for s in texts]


# ---- comparing -------------------------------------------------------------------------------------------------------
def random_text(r):
    words = ["the", "server", " ", "  ", "\n", "12", "7", "'s", "\u00e9", "\u0301", "\u0323", "e", "\u1112\u1161", "\u4f60", "\U0001f999", "servelab", "<s>", "KV", "(", ");", "\t", "Zq", BLANK]
    return "".join(r.choice(words) if r.random() < 0.8 else chr(r.randrange(33, 0x250)) for _ in range(r.randrange(1, 40)))


def main():
    if sys.argv[1:] == ["--write"]:
        with open(GOLDEN, "w") as f:
            json.dump(make(), f, ensure_ascii=True, separators=(",", ":"))
            f.write("\n")
        return 0
    golden, r, n, failed = read_golden(), random.Random(5), 0, 0
    texts = [random_text(r) for _ in range(300)]
    with tempfile.TemporaryDirectory() as tmp:
        for name, v in golden["folders"].items():
            t = Tokenizer.from_str(json.dumps(v["tokenizer"]))
            again = all(t.encode(s, add_special_tokens=False).ids == ids for s, ids in v["texts"])
            folder = write_folder(tmp, name, v["tokenizer"])
            wrong = [s for s in texts if ours(folder, s) != t.encode(s, add_special_tokens=False).ids]
            for ok, what in ((again, "the committed ids"), (not wrong, f"{len(texts)} random texts, wrong: {wrong[:2]!r}")):
                n, failed = n + 1, failed + (not ok)
                print(f"{'' if ok else 'not '}ok {n} - {name}: {what}")
    print(f"1..{n}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
