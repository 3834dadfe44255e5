#!/usr/bin/env python3
"""test_small_files.py: small model files through the server and `servelab model`: end markers of either kind end an answer,
markers are markers in a raw prompt and text in a message, rope scaling needs no type, and parts are found or named.
"""
import json, os, re, subprocess, sys, tempfile, urllib.request

from small_gguf import END_OF_TEXT, f32, key, model, says_a, text, u32, vocabulary, write

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
TURN = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
n = failed = 0


def check(ok, name, detail=""):
    global n, failed
    n, failed = n + 1, failed + (not ok)
    print("%sok %d - %s%s" % ("" if ok else "not ", n, name, "" if ok else ": " + repr(detail)[:600]))


class Server:
    """A server of one model file; ask() posts and gives the answer's text, its finish reason and the prompt's tokens."""

    def __init__(self, path):
        self.process = subprocess.Popen([SERVELAB, "serve", "--port", "0", "--model", path], stderr=subprocess.PIPE, text=True)
        printed = []
        for line in self.process.stderr:  # until the server is ready, or has ended
            printed.append(line)
            ready = re.search(r"is ready at (http://[^/]+)/", line)
            if ready:
                self.url = ready.group(1)
                return
        sys.exit("the server ended: " + "".join(printed))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, path, **fields):
        body = {"model": "mini", "temperature": 0, "max_tokens": 6, **fields}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        answer = json.load(urllib.request.urlopen(request))
        choice = answer["choices"][0]
        return choice.get("text", choice.get("message", {}).get("content")), choice["finish_reason"], answer["usage"]["prompt_tokens"]


def markers(folder):
    keys, tensors = model()
    tensors.append(("output.weight", tensors[0][1]))
    for kind, name in ((3, "control"), (4, "user-defined"), (1, "normal")):
        path = folder + "/end.gguf"
        write(path, keys + vocabulary(end_kind=kind, eos=END_OF_TEXT), tensors, says_a())
        with Server(path) as s:
            got = s.ask("/v1/chat/completions", messages=[{"role": "user", "content": "hi"}])
            check(got == ("a", "stop", 21), f"a {name} end marker ends the answer", got)
            got = s.ask("/v1/completions", prompt=TURN)
            check(got == ("a", "stop", 21), f"{name}: markers in a raw prompt are markers", got)
            got = s.ask("/v1/chat/completions", messages=[{"role": "user", "content": "<|im_end|>"}])
            check(got == ("a", "stop", 29), f"{name}: a marker in a message is text", got)


def info(path):
    p = subprocess.run([SERVELAB, "model", "info", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p.returncode, p.stdout, p.stderr


def keys_that_matter(folder):
    keys, tensors = model()
    path = folder + "/key.gguf"
    write(path, keys + [f32("llama.rope.scaling.factor", 4)] + vocabulary(), tensors)
    got = info(path)
    check(got[0] == 0 and "positions divided by 4" in got[1], "a rope factor without a type scales linearly", got)
    for extra, words in ((f32("llama.logit_scale", 0.5), ("llama.logit_scale", "is 0.5")),
                         (u32("llama.wobble", 3), ("llama.wobble", "is 3", "not known"))):
        write(path, keys + [extra] + vocabulary(), tensors)
        got = info(path)
        check(got[0] == 2 and all(w in got[2] for w in (path, *words)), f"{words[0]} is refused with file and value", got)


def parts(folder):
    keys, tensors = model()
    split = lambda no: [u32("split.no", no), u32("split.count", 2), u32("split.tensors.count", len(tensors))]
    first, second = (f"{folder}/meta-0000{i}-of-00002.gguf" for i in (1, 2))
    write(first, keys + vocabulary() + split(0))
    got = info(first)
    check(got[0] == 2 and "part 1 of 2" in got[2] and os.path.basename(second) in got[2], "a missing part is named", got)
    write(second, split(1), tensors)
    got = info(first)
    check(got[0] == 0 and f"{len(tensors)} with" in got[1], "two parts are one model", got)


with tempfile.TemporaryDirectory() as scratch:
    markers(scratch)
    keys_that_matter(scratch)
    parts(scratch)
print("1..%d" % n)
sys.exit(1 if failed else 0)
