#!/usr/bin/env python3
"""test_hf_folder.py [--write]: the embedded model's tokenizer as a Hugging Face folder.

Three things must agree: the committed folder (export_tokenizer.py made it from vocab.py), what `servelab model tokenizer`
writes from the GGUF, and ours: golden/hf_folder.json holds what `transformers` does with the folder (encode, decode,
special tokens, chat template), and servelab must do the same. All of this needs no package. Where `transformers` is
installed, it is asked again, and encodes the 12,000 lines of golden/tokenizer.json too. --write makes the golden anew.
"""
import hashlib
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
EMBEDDED = os.path.join(TOP, "common/model/embedded")
FOLDER, GOLDEN = os.path.join(EMBEDDED, "tokenizer"), os.path.join(HERE, "golden", "hf_folder.json")
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
OBJ = os.environ.get("OBJ", os.path.join(TOP, "build/obj/gcc-release-solutions"))
NAMES = ["special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"]

TEXTS = ["", " ", "key K7Q2 4815\n", "07:32 warn disk read 120 ms\n? K7Q2", '{"tool":"get","args":["K7Q2"]}', "12+30=42",
         "larger of 3 and 107>", "na\u00efve \U0001f642 \t\r\n  x", "it's  we'll\n\n", "\u65e5\u672c\u8a9e", "\u0301e\u0301",
         "<|bos|>key", "12<|eos|>", "<|unused0|>", "a<|eos|><|bos|>b", "x" * 40, "  leading and trailing  "]
CHATS = [[["user", "? K7Q2"]], [["system", "log\n"], ["user", "12+30="]],
         [["user", "12+30="], ["assistant", "42"], ["user", "\n? K7Q2"]], [["user", ""]]]
IDS = [[446, 396, 263, 22, 48, 17, 447], [0, 255, 128], [447, 447], [173, 222, 10]]

n = failed = 0


def check(ok, name, detail=""):
    global n, failed
    n, failed = n + 1, failed + (not ok)
    print("%sok %d - %s%s" % ("" if ok else "not ", n, name, "" if ok else ": " + repr(detail)[:600]), flush=True)


def run(*args, stdin=""):
    p = subprocess.run([SERVELAB, "model", *args], input=stdin, capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout, p.stderr


def read(folder):
    out = {}
    for name in NAMES:
        with open(os.path.join(folder, name)) as f:
            out[name] = json.load(f)
    return out


# ---- the folder, without any package ---------------------------------------------------------------------------------
def export():
    """export_tokenizer.py's files. vocab.py needs `regex` to encode only, which isn't done here."""
    sys.dont_write_bytecode = True
    if not importlib.util.find_spec("regex"):
        sys.modules["regex"] = types.SimpleNamespace(compile=lambda pattern: None)
    sys.path.insert(0, EMBEDDED)
    import export_tokenizer
    return export_tokenizer.files()


def the_folder():
    committed = read(FOLDER)
    check(sorted(os.listdir(FOLDER)) == NAMES, "the folder has three files", os.listdir(FOLDER))
    made = json.loads(json.dumps(export()))
    check(made == committed, "the committed folder is what vocab.py gives", [k for k in NAMES if made[k] != committed[k]])
    with tempfile.TemporaryDirectory() as t:
        out = os.path.join(t, "new")
        for turn in ("makes the folder", "writes over its own files"):
            rc, text, err = run("tokenizer", "--out", out)
            check(rc == 0 and out in text, "servelab " + turn, (rc, text, err))
            ours = read(out)
            check(ours == committed and sorted(os.listdir(out)) == NAMES, "from the GGUF it is the same",
                  [k for k in NAMES if ours[k] != committed[k]])
        rc, text, err = run("tokenizer", "--out", out, "--json")
        check(rc == 0 and json.loads(text) == {"out": out}, "--json", (rc, text, err))
        rc, text, err = run("tokenizer", "--out", os.path.join(out, "tokenizer.json"))
        check(rc == 2 and "--out" in err and "tokenizer.json" in err, "a file in the place of the folder is named", (rc, err))
        rc, text, err = run("tokenizer", "--out", os.path.join(t, "none", "below"))
        check(rc == 2 and "--out" in err, "a folder that can't be made is named", (rc, err))
        rc, text, err = run("tokenizer")
        check(rc == 2 and "--out" in err, "--out is needed", (rc, err))
        rc, text, err = run("tokenizer", "--model", os.path.join(t, "none.gguf"), "--out", out)
        check(rc == 2 and "none.gguf" in err, "a missing model is named", (rc, err))


def other_vocabularies():
    from small_gguf import CHATML, key, strings, text, vocabulary, write
    with tempfile.TemporaryDirectory() as t:
        model, out = os.path.join(t, "chatml.gguf"), os.path.join(t, "out")
        keys = [key("general.architecture", 8, text("gpt2"))] + vocabulary()
        write(model, keys)
        rc, _, err = run("tokenizer", "--model", model, "--out", out)
        f = read(out) if rc == 0 else {}
        check(rc == 0 and f["tokenizer_config.json"]["chat_template"] == CHATML and "model_max_length" not in f["tokenizer_config.json"]
              and f["tokenizer.json"]["post_processor"] is None and len(f["tokenizer.json"]["pre_tokenizer"]["pretokenizers"]) == 2
              and f["tokenizer.json"]["model"]["merges"] == ["H e", "He l"]
              and [a["id"] for a in f["tokenizer.json"]["added_tokens"]] == [258, 259, 260],
              "a model without bos, with single digits and turns", (rc, err, f))
        pre = key("tokenizer.ggml.pre", 8, text("smollm"))
        write(model, [key("tokenizer.ggml.pre", 8, text("qwen2")) if k == pre else k for k in keys])
        rc, _, err = run("tokenizer", "--model", model, "--out", os.path.join(t, "none"))
        check(rc == 2 and "tokenizer.ggml.pre" in err and not os.path.exists(os.path.join(t, "none")),
              "another pre-tokenizer is refused, and nothing is written", (rc, err))
        tokens = [k for k in keys if k.startswith(text("tokenizer.ggml.tokens"))]
        bad = tokens[0].replace(b"<|im_end|>", b"<|im_\xff\xffd|>")
        write(model, [bad if k in tokens else k for k in keys])
        rc, _, err = run("tokenizer", "--model", model, "--out", os.path.join(t, "none"))
        check(rc == 2 and "UTF-8" in err, "a token that isn't UTF-8 is refused", (rc, err))


# ---- what transformers does with it ----------------------------------------------------------------------------------
def ours():
    """The golden's content, by servelab."""
    def ids(*args, stdin=""):
        rc, out, err = run("tokenize", "--json", *args, stdin=stdin)
        assert rc == 0, err
        return json.loads(out)["ids"]

    def text(row, *flags):
        rc, out, err = run("detokenize", "--json", *flags, *map(str, row))
        assert rc == 0, err
        return json.loads(out)["text"]
    return {"encode": [[t, ids("--special", "-", stdin=t)] for t in TEXTS],
            "decode": [[row, text(row, "--special"), text(row)] for row in IDS],
            "bos": 446, "eos": 447,
            # one message a turn: this command takes a user's message, and the template treats all roles alike
            "chat": [[c, ids("--chat", "-", stdin="".join(m[1] for m in c))] for c in CHATS]}


def theirs(t):
    """The same by transformers."""
    def chat(messages):
        messages = [{"role": role, "content": content} for role, content in messages]
        return t.apply_chat_template(messages, tokenize=True, add_generation_prompt=True, return_dict=False)
    return {"encode": [[text, t.encode(text, add_special_tokens=False)] for text in TEXTS],
            "decode": [[row, t.decode(row), t.decode(row, skip_special_tokens=True)] for row in IDS],
            "bos": t.bos_token_id, "eos": t.eos_token_id, "chat": [[c, chat(c)] for c in CHATS]}


def compare(name, got, want):
    for part in ("encode", "decode", "bos", "eos", "chat"):
        rows = [pair for pair in zip(got[part], want[part]) if pair[0] != pair[1]] if isinstance(want[part], list) else []
        check(got[part] == want[part], "%s: %s" % (name, part), rows or (got[part], want[part]))


def lines_digest(t):
    """As in golden/tokenizer.json, whose rule for ill-formed UTF-8 is check_tokenizer_hf.py's: each such byte alone."""
    program = os.path.join(OBJ, "common/model/tests/test_tokenizer_golden")
    data, at, sha = subprocess.run([program, "--lines"], check=True, stdout=subprocess.PIPE).stdout, 0, hashlib.sha256()
    alphabet = {c: b for b, c in enumerate(alphabet_of_bytes())}
    byte_id = {alphabet[c]: i for c, i in t.get_vocab().items() if c in alphabet}
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        line, ids, good = data[at + 4:at + 4 + size], [], ""
        at += 4 + size
        for c in line.decode("utf-8", "surrogateescape") + "\udc00":  # the last ends the last good part
            if "\udc80" <= c <= "\udcff" or c == "\udc00":
                ids += t.encode(good, add_special_tokens=False) if good else []
                ids += [byte_id[ord(c) - 0xdc00]] if c != "\udc00" else []
                good = ""
            else:
                good += c
        sha.update(struct.pack("<%di" % (len(ids) + 1), len(ids), *ids))
    return sha.hexdigest()


def alphabet_of_bytes():
    from small_gguf import alphabet
    return alphabet()


def with_transformers(golden):
    if not importlib.util.find_spec("transformers"):
        check(True, "transformers reads the folder # SKIP the package transformers isn't installed")
        return
    import transformers
    t = transformers.AutoTokenizer.from_pretrained(FOLDER)
    compare("transformers", theirs(t), golden)
    check(t.encode("12+30=")[:1] == [446] and t("12+30=")["input_ids"] == t.encode("12+30="), "transformers puts bos first")
    check(t.model_max_length == 2304 and len(t) == 448, "transformers knows the context and the vocabulary", len(t))
    with open(os.path.join(HERE, "golden", "tokenizer.json")) as f:
        want = json.load(f)["ids"]["tiny"]["special"]
    check(lines_digest(t) == want, "transformers gives the ids of the 12,000 lines")


def write_golden():
    import transformers
    content = theirs(transformers.AutoTokenizer.from_pretrained(FOLDER))
    content = {"made_by": "test_hf_folder.py --write, transformers " + transformers.__version__, **content}
    with open(GOLDEN, "w") as f:
        f.write("{\n" + ",\n".join(" %s: %s" % (json.dumps(k), json.dumps(v)) for k, v in content.items()) + "\n}\n")


if sys.argv[1:] == ["--write"]:
    write_golden()
    sys.exit(0)
with open(GOLDEN) as f:
    GOLD = json.load(f)
the_folder()
other_vocabularies()
compare("servelab", ours(), GOLD)
with_transformers(GOLD)
print("1..%d" % n)
sys.exit(1 if failed else 0)
