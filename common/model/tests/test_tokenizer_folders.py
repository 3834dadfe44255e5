#!/usr/bin/env python3
"""test_tokenizer_folders.py: ids of small tokenizers, of Hugging Face folders and of a SentencePiece vocabulary in a GGUF
file, against those of Hugging Face's `tokenizers` and of `sentencepiece` (check_tokenizer_folders.py made the golden file).
"""
import json, os, struct, subprocess, sys, tempfile
import small_folder, small_gguf

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
GOLDEN = os.path.join(HERE, "golden", "tokenizers.json")
SENTENCEPIECE = "sentencepiece"
n = failed = 0


def check(ok, name, detail=""):
    global n, failed
    n, failed = n + 1, failed + (not ok)
    print("%sok %d - %s%s" % ("" if ok else "not ", n, name, "" if ok else ": " + repr(detail)[:900]))


def ours(model, text, *flags):
    """Our ids, special tokens by their text, or the message."""
    if not text:
        return []
    p = subprocess.run([SERVELAB, "model", "tokenize", "--model", model, "--special", "--json", *flags, "-"], input=text.encode(),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    return json.loads(p.stdout)["ids"] if p.returncode == 0 else p.stderr.decode()


def write_folder(tmp, name, tokenizer, **config):
    """A folder with this tokenizer and a model of as many tokens."""
    folder, settings = os.path.join(tmp, name), dict(dict(bos_token="<s>", eos_token={"content": "</s>"}), **config)
    small_folder.write(folder, "llama2")
    c = small_folder.config("llama2")
    c["vocab_size"] = max([*tokenizer["model"]["vocab"].values(), *(t["id"] for t in tokenizer["added_tokens"])]) + 1
    tensors = [(t, "F32", s, bytes(4 * s[0] * (s[1] if len(s) > 1 else 1))) for t, s in small_folder.shapes(c).items()]
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(small_folder.safetensors(tensors))
    for file, doc in (("config.json", c), ("tokenizer.json", tokenizer), ("tokenizer_config.json", settings)):
        small_folder.write_json(folder, file, doc)
    return folder


def vocabulary_keys(pieces, scores=None):
    """The keys of a GGUF file with a SentencePiece vocabulary: [text, score, kind]."""
    texts, own, kinds = zip(*pieces)
    k, scores = small_gguf.key, own if scores is None else scores
    return [k("tokenizer.ggml.model", 8, small_gguf.text("llama")), k("tokenizer.ggml.tokens", 9, small_gguf.strings(texts)),
            k("tokenizer.ggml.scores", 9, struct.pack("<IQ%df" % len(scores), 6, len(scores), *scores)),
            k("tokenizer.ggml.token_type", 9, struct.pack("<IQ%di" % len(kinds), 5, len(kinds), *kinds)),
            small_gguf.u32("tokenizer.ggml.bos_token_id", 1), small_gguf.u32("tokenizer.ggml.eos_token_id", 2)]


def write_vocabulary(path, *args):
    small_gguf.write(path, [small_gguf.key("general.architecture", 8, small_gguf.text("llama"))] + vocabulary_keys(*args))


def by_definition(pieces, text):
    """SentencePiece's BPE as it is defined: join the pair whose piece has the highest score, the leftmost of equals."""
    ids, score = {p: i for i, (p, _, k) in enumerate(pieces) if k == 1}, {p: s for p, s, k in pieces if k == 1}
    symbols = list(("\u2581" + text).replace(" ", "\u2581"))
    while True:
        pairs = [(-score[a + b], i) for i, (a, b) in enumerate(zip(symbols, symbols[1:])) if a + b in score]
        if not pairs:
            return [ids[s] for s in symbols]
        i = min(pairs)[1]
        symbols[i:i + 2] = [symbols[i] + symbols[i + 1]]


def blanks_inside(tmp, pieces):
    """A vocabulary in which a piece spans two words: text can't be cut at its blanks."""
    spanning = [[p, s - 4, k] for p, s, k in pieces] + [["e\u2581s", -1.0, 1], ["d\u2581", -2.0, 1], ["e\u2581s\u2581", -3.0, 1]]
    path = os.path.join(tmp, "spanning.gguf")
    write_vocabulary(path, spanning)
    texts = ["the server", "one small and  the e s s", " e s e s e s", "and and d d  d", "the same size and the end "]
    for name, p in (("pieces", pieces), ("spanning pieces", spanning)):
        write_vocabulary(path, p)
        wrong = [(s, ours(path, s), by_definition(p, s)) for s in texts if ours(path, s) != by_definition(p, s)]
        check(not wrong, f"{name}: as defined", wrong[:1])
    check(len(by_definition(spanning, texts[2])) < len(by_definition(pieces, texts[2])), "spanning pieces are used")


def wrong_vocabularies(tmp, pieces):
    at, byte = [p for p, _, _ in pieces].index("\u2581the"), [p for p, _, _ in pieces].index("<0x41>")
    other = lambda i, piece: pieces[:i] + [piece] + pieces[i + 1:]
    for name, args, wanted in (
            ("a score too few", (pieces, [0.0] * (len(pieces) - 1)), ["tokenizer.ggml.scores", f"{len(pieces) - 1} entries"]),
            ("a score that is no number", (pieces, [float("nan")] * len(pieces)), ["tokenizer.ggml.scores", "element 0"]),
            ("a piece of an unknown character", (other(at, ["\u2581the\u0bf5", -1.0, 1]),), [f"token {at}", "isn't a token by itself"]),
            ("a piece of 600 bytes", (other(at, ["e" * 600, -1.0, 1]),), [f"token {at}", "600 bytes"]),
            ("a byte in words", (other(byte, ["<0x4g>", 0.0, 6]),), [f"token {byte}", "<0x41>"]),
            ("a byte fewer", (other(byte, ["", 0.0, 5]),), ["0x41", "byte fallback"])):
        path = os.path.join(tmp, "wrong.gguf")
        write_vocabulary(path, *args)
        p = subprocess.run([SERVELAB, "model", "tokenize", "--model", path, "x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        err = p.stderr.decode()
        check(p.returncode == 2 and err.count("\n") == 1 and all(w in err for w in wanted), name, err)


def read_golden():
    golden = json.load(open(GOLDEN))
    assert golden["schema"] == "servelab.golden-tokenizers.v1"
    for v in golden["folders"].values():
        v["tokenizer"]["model"] = golden["models"][v["tokenizer"]["model"]]
    return golden


def compare(model, name, texts):
    wrong = [(s, got, ids) for s, ids in texts for got in [ours(model, s)] if got != ids]
    check(len(texts) > 20 and not wrong, f"{name}: ids of {len(texts)} texts", wrong[:1])


# ---- wrong folders ---------------------------------------------------------------------------------------------------
def changed(tokenizer, change):
    doc = json.loads(json.dumps(tokenizer))
    change(doc)
    return doc


def refused(tmp, name, tokenizer, wanted, linked=None, **config):
    """linked: a file that is a link to nothing."""
    folder = write_folder(tmp, "refused", tokenizer, **config)
    if linked:
        os.symlink("../../blobs/0123", os.path.join(folder, linked))
    p = subprocess.run([SERVELAB, "model", "tokenize", "--model", folder, "x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    err = p.stderr.decode()
    check(p.returncode == 2 and err.count("\n") == 1 and all(w in err for w in wanted), name, (p.returncode, err))
    if linked:
        os.remove(os.path.join(folder, linked))


def wrong_tokenizers(tmp, spm, byte):
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}
    for name, base, change, wanted in (
            ("Unigram", spm, lambda d: d["model"].update(type="Unigram"), ["model.type", "'Unigram'"]),
            ("dropout", spm, lambda d: d["model"].update(dropout=0.1), ["dropout"]),
            ("an unknown normalizer", spm, lambda d: d.update(normalizer={"type": "Lowercase"}), ["normalizer", "'Lowercase'"]),
            ("split words", spm, lambda d: d.update(normalizer=None, pre_tokenizer=metaspace), ["pre_tokenizer", "'Metaspace'"]),
            ("another pattern", byte, lambda d: d["pre_tokenizer"]["pretokenizers"][0]["pattern"].update(Regex="x+"), ["pre_tokenizer", "x+"]),
            ("a prefix of bytes", byte, lambda d: d["pre_tokenizer"]["pretokenizers"][1].update(add_prefix_space=True), ["'ByteLevel'"]),
            ("merges that count", byte, lambda d: d["model"].update(ignore_merges=False), ["ignore_merges"]),
            ("a merge of three", byte, lambda d: d["model"]["merges"].append(["a", "b", "c"]), ["model.merges", "pair"]),
            ("a merge into nothing", byte, lambda d: d["model"]["merges"].append(["z", "q"]), ["tokenizer.json: merges", "vocabulary"]),
            ("an id twice", byte, lambda d: d["model"]["vocab"].update(zzq=5), ["same id 5"]),
            ("an id of -1", byte, lambda d: d["model"]["vocab"].update(a=-1), ["model.vocab", "id"]),
            ("an added word elsewhere", byte, lambda d: d["added_tokens"][0].update(id=5), ["added_tokens", "has id 5"]),
            ("an added word that strips", byte, lambda d: d["added_tokens"][0].update(lstrip=True), ["added_tokens", "lstrip"]),
            ("eos behind a text", byte, lambda d: d["post_processor"]["processors"][1]["single"].reverse(), ["post_processor"]),
            ("a missing byte", spm, lambda d: d["model"]["vocab"].pop("<0x41>"), ["tokenizer.json: tokens", "0x41"])):
        refused(tmp, name, changed(base, change), wanted)
    for file in ("generation_config.json", "chat_template.jinja"):
        refused(tmp, "a link to nothing: " + file, byte, [file, "can't be opened"], linked=file)
    refused(tmp, "bos that is no token", spm, ["tokenizer_config.json: bos_token", "'<bos>'"], bos_token="<bos>")
    refused(tmp, "eos after all", spm, ["tokenizer_config.json: add_bos_token", "post-processor"], add_eos_token=True)
    refused(tmp, "no bos after all", spm, ["tokenizer_config.json: add_bos_token", "post-processor"], add_bos_token=False)


def does_not_belong(tmp, tokenizer):
    folder = write_folder(tmp, "other", tokenizer)
    small_folder.write(folder, "llama2")  # a model of 37 tokens
    p = subprocess.run([SERVELAB, "model", "info", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    err = p.stderr.decode()
    check(p.returncode == 2 and "tokenizer.json: tokens" in err and "37 rows" in err, "a tokenizer of another model", err)
    for field, value in (("eos_token_id", 5000), ("eos_token_id", [2, 5000]), ("bos_token_id", 5000), ("vocab_size", 32000)):
        small_folder.write_json(folder, "config.json", dict(small_folder.config("llama2"), **{field: value}))
        p = subprocess.run([SERVELAB, "model", "info", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        check(p.returncode == 2 and b"does the tokenizer belong" in p.stderr and field.encode() in p.stderr,
              f"{field} of another model's tokenizer", p.stderr)


def main():
    golden = read_golden()
    with tempfile.TemporaryDirectory() as tmp:
        for name, v in golden["folders"].items():
            folder = write_folder(tmp, name, v["tokenizer"])
            compare(folder, name, v["texts"])
            p = subprocess.run([SERVELAB, "model", "info", "--json", folder], stdout=subprocess.PIPE, timeout=60)
            t = json.loads(p.stdout).get("tokenizer", {})
            names = {a["content"]: a["id"] for a in v["tokenizer"]["added_tokens"]}
            check((t.get("bos"), t.get("eos")) == (names["<s>"], names["</s>"]) and
                  t["adds_bos"] == ("<s>" in json.dumps(v["tokenizer"]["post_processor"])), f"{name}: its special tokens", t)
        path = os.path.join(tmp, "vocab.gguf")
        write_vocabulary(path, golden[SENTENCEPIECE]["pieces"])
        compare(path, "scores in a GGUF file", golden[SENTENCEPIECE]["texts"])
        wrong_tokenizers(tmp, golden["folders"]["spm-each"]["tokenizer"], golden["folders"]["llama-bpe"]["tokenizer"])
        blanks_inside(tmp, golden[SENTENCEPIECE]["pieces"])
        wrong_vocabularies(tmp, golden[SENTENCEPIECE]["pieces"])
        does_not_belong(tmp, golden["folders"]["spm-each"]["tokenizer"])
    print("1..%d" % n)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
