#!/usr/bin/env python3
"""test_cmd_model.py: `servelab model` as a user meets it: output, JSON keys, messages, exit statuses.

The files are those of small_gguf.py, with and without a model.
"""
import json, os, subprocess, sys, tempfile

from small_gguf import key, model, text, vocabulary, write

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
n = failed = 0


def check(ok, name, detail=""):
    global n, failed
    n, failed = n + 1, failed + (not ok)
    print("%sok %d - %s%s" % ("" if ok else "not ", n, name, "" if ok else ": " + repr(detail)[:600]))


def run(*args, stdin=b""):
    p = subprocess.run([SERVELAB, "model", *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    return p.returncode, p.stdout, p.stderr.decode(errors="replace")


# ---- what a user does ------------------------------------------------------------------------------------------------
def info(folder):
    rc, out, err = run("info", folder + "/mini.gguf")
    check(rc == 0 and b"1, d_model 8, d_ffn 12" in out and b"chatml" in out and b"F32" in out, "info", (rc, out, err))
    rc, out, err = run("info", "--tensors", folder + "/mini.gguf")
    check(rc == 0 and b"blk.0.ffn_down.weight" in out and b"8 x 12" in out, "info --tensors", (rc, out, err))
    rc, out, err = run("info", "--json", folder + "/mini.gguf")
    j = json.loads(out)
    check(rc == 0 and j["config"]["head_dim"] == 4 and j["config"]["tied"] is True and len(j["tensors"]) == 11
          and j["tensors"][0] == {"name": "token_embd.weight", "type": "F32", "rows": 261, "cols": 8, "bytes": 8352}
          and j["tokenizer"] == {"vocab_size": 261, "bos": 258, "eos": 260, "adds_bos": False, "chat_template": "chatml"},
          "info --json", out)
    rc, out, err = run("info", "--json", folder + "/vocab.gguf")
    j = json.loads(out)
    check(rc == 0 and "config" not in j and j["tokenizer"]["vocab_size"] == 261, "info of a vocabulary alone", out)


def tokenize(folder):
    m = ["--model", folder + "/vocab.gguf"]
    rc, out, err = run("tokenize", *m, "Hello")
    check(rc == 0 and out.startswith(b"3 tokens: 257 108 111\n") and b'"Hel"' in out, "tokenize", (rc, out, err))
    rc, out, err = run("tokenize", *m, "--json", "-", stdin=b"\xffH\n\x00")
    j = json.loads(out)
    check(rc == 0 and j["ids"] == [255, 72, 10, 0] and j["n_tokens"] == 4
          and j["pieces"][0] == {"id": 255, "text": "\ufffd", "bytes_hex": "ff"}, "tokenize any bytes from stdin", out)
    rc, out, err = run("tokenize", *m, "<|im_end|>")
    check(rc == 0 and out.startswith(b"10 tokens:"), "a marker is text", out)
    rc, out, err = run("tokenize", *m, "--special", "<|im_end|>")
    check(rc == 0 and out.startswith(b"1 tokens: 260\n"), "a marker with --special", out)
    rc, out, err = run("tokenize", *m, "--chat", "--json", "He<|im_end|>")
    ids = [t for t in json.loads(out)["ids"]]
    check(rc == 0 and ids == [259, *b"user\n", 256, *b"<|im_end|>", 260, 10, 259, *b"assistant\n"], "--chat", ids)
    rc, out, err = run("tokenize", *m, "x\x1b[2J\n")
    check(rc == 0 and b"\x1b" not in out, "control bytes don't reach the terminal", out)
    rc, out, err = run("tokenize", *m, "")
    check(rc == 0 and out.startswith(b"0 tokens:"), "an empty text", out)


def detokenize(folder):
    m = ["--model", folder + "/vocab.gguf"]
    rc, out, err = run("detokenize", *m, "257", "108", "111", "260")
    check(rc == 0 and out == b"Hello\n", "detokenize", (rc, out, err))
    rc, out, err = run("detokenize", *m, "--json", "-", stdin=b"240 159\n153,130 255")
    check(rc == 0 and json.loads(out) == {"text": "\U0001f642\ufffd"}, "detokenize from stdin", out)
    rc, out, err = run("detokenize", *m, "--special", "72", "260")
    check(rc == 0 and out == b"H<|im_end|>\n", "detokenize --special", out)


def mistakes(folder):
    vocab, mini = folder + "/vocab.gguf", folder + "/mini.gguf"
    for name, args, words in (
            ("no action", [], ["model info", "model tokenize", "model detokenize"]), ("another action", ["frobnicate"], ["frobnicate"]),
            ("another flag", ["info", "--jsno"], ["--jsno"]), ("--model alone", ["tokenize", "--model"], ["--model"]),
            ("no text", ["tokenize", "--model", vocab], ["TEXT"]),
            ("two texts", ["tokenize", "--model", vocab, "a", "b"], ["'b' is one argument too many"]),
            ("--chat and --special", ["tokenize", "--model", vocab, "--chat", "--special", "a"], ["--chat", "--special"]),
            ("no ids", ["detokenize", "--model", vocab], ["ID is missing"]),
            ("an id too high", ["detokenize", "--model", vocab, "1", "261"], ["261", "260"]),
            ("no number", ["detokenize", "--model", vocab, "1x"], ["1x"]),
            ("no such file", ["info", folder + "/none.gguf"], ["none.gguf", "No such file"]),
            ("no GGUF file", ["info", __file__], ["GGUF"]),
            ("a file cut short", ["info", folder + "/short.gguf"], ["short.gguf", "end of the file"]),
            ("two files", ["info", vocab, mini], ["one argument too many"])):
        rc, out, err = run(*args)
        check(rc == 2 and out == b"" and all(w in err for w in words), name + " is named, status 2", (rc, out, err))
    rc, out, err = run("info", "--json", folder + "/none.gguf")
    check(rc == 2 and "none.gguf" in json.loads(out)["error"]["input"], "the error as JSON", (rc, out, err))
    rc, out, err = run("--help")
    check(rc == 0 and b"example: build/bin/servelab model" in out, "--help has an example", out)


with tempfile.TemporaryDirectory() as folder:
    keys, tensors = model()
    write(folder + "/vocab.gguf", [key("general.architecture", 8, text("gpt2"))] + vocabulary())
    write(folder + "/mini.gguf", keys + vocabulary(), tensors)
    with open(folder + "/mini.gguf", "rb") as f, open(folder + "/short.gguf", "wb") as g:
        g.write(f.read()[:-100])
    info(folder)
    tokenize(folder)
    detokenize(folder)
    mistakes(folder)
print("1..%d" % n)
sys.exit(1 if failed else 0)
