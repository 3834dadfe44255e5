#!/usr/bin/env python3
"""check_chat_golden.py FOLDER [--write]: prompts of the templates that are known by a digest, as transformers renders them.

FOLDER has the templates' texts, as the models were published with them: NAME.0.jinja, NAME.1.jinja, ... (NAME as in
chat_template.c). They are not in this tree; golden/chat.json has their SHA-256, dialogues, and for each dialogue the
digests of what apply_chat_template gives: text, ids over a vocabulary of bytes and markers, and ids over the SentencePiece
vocabulary in the shared test data. test_chat_golden.c compares ours with them on every machine. --write makes the file;
without it the file is compared with what would be written, and the product's recognition of each text is checked (TAP).
Needs transformers. Environment: SERVELAB_DATA, SERVELAB.
"""
import glob, hashlib, json, os, struct, subprocess, sys, tempfile
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from check_chat_template import alphabet, write
from hf_tokenizer import Spm, read_metadata

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
GOLDEN = HERE + "/golden/chat.json"
SERVELAB = os.environ.get("SERVELAB", TOP + "/build/bin/servelab")
SPM = os.path.join(os.environ.get("SERVELAB_DATA", TOP + "/../shared/data"), "tokenizers/ggml-vocab-llama-spm.gguf")
MARKERS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "[INST]", "[/INST]"]

CONTENTS = ["hi", "", " ", "\n\n  two\nlines \n", "  leading", "trailing\t ", "\u00e9 e\u0301 \u4f60\u597d \U0001f999\u200d",
            "\u00a0\u3000x\u2028\u1680", "{{ messages }} {% if x %}", "it's \"quoted\" \\n \\", "<<SYS>>\nx\n<</SYS>>", "[ INST ] 12.5",
            "\x1f\x07\x7f", "\r\n", "a\tb\x0c\x08", "\u200b", "</s >", "123"]


def dialogues():
    out = [[("user", c)] for c in CONTENTS]
    out += [[("system", c), ("user", d)] for c, d in zip(CONTENTS, CONTENTS[5:] + CONTENTS[:5])]
    turns = [("user", "a question"), ("assistant", " an answer \n"), ("user", "and then?"), ("assistant", ""), ("user", " last ")]
    for n in (2, 3, 4, 5):
        out += [turns[:n], [("system", " be brief ")] + turns[:n], [("system", "")] + turns[:n]]
    out += [[("user", "a"), ("assistant", c), ("user", "b")] for c in CONTENTS[3:13]]
    # orders that some templates refuse, and tools' answers
    out += [[("system", "only")], [("assistant", "first")], [("user", "a"), ("user", "b")], [("user", "a"), ("system", "b")],
            [("user", "a"), ("assistant", "b"), ("assistant", "c")], [("system", "a"), ("assistant", "b")],
            [("system", "a"), ("system", "b"), ("user", "c")], [("system", "a"), ("user", "b"), ("system", "c"), ("user", "d")],
            [("user", "a"), ("assistant", "b"), ("system", "c"), ("user", "d")]]
    for results in (["sunny"], ["{\"t\": 21}", " 2 "], CONTENTS[8:15]):
        out += [[("user", "a"), ("assistant", "")] + [("tool", r) for r in results] + end for end in ([], [("user", "b")])]
    return out + [[("tool", "first"), ("user", "a")], [("user", "a"), ("tool", "x")], [("system", "s"), ("tool", "x"), ("user", "y")]]


def bytes_tokenizer():
    t = Tokenizer(models.BPE(vocab={s: i for i, s in enumerate(alphabet())}, merges=[]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(MARKERS)
    return PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>")


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def ids_digest(ids):
    return digest(struct.pack("<%di" % len(ids), *ids))


def inst_refuses(name, roles):
    """Where a template of the form [INST] leaves a message out without a word, ours refuses."""
    if not name.startswith(("llama-2", "mi")):
        return False
    rest = roles[1:] if roles[0] == "system" else roles
    return not rest or any(r not in ("user", "assistant") for r in rest)


def rendered(t, spm, name, template):
    out = []
    for d in dialogues():
        messages = [{"role": r, "content": c} for r, c in d]
        try:
            text = t.apply_chat_template(messages, chat_template=template, tokenize=False, add_generation_prompt=True)
            ids = t.apply_chat_template(messages, chat_template=template, tokenize=True, add_generation_prompt=True, return_dict=False)
        except Exception:  # the template raised
            out.append(None)
            continue
        out.append(None if inst_refuses(name, [r for r, _ in d]) else
                   [digest(text.encode()), ids_digest(ids)] +
                   ([ids_digest(spm.encode(text.encode(), lambda b: [b.decode()]))] if name == "llama-2" else []))
    return out


def make(folder):
    t, spm, texts = bytes_tokenizer(), Spm(read_metadata(SPM), True), {}
    for path in sorted(glob.glob(folder + "/*.jinja")):
        texts.setdefault(os.path.basename(path).rsplit(".", 2)[0], []).append(open(path).read())
    templates = {}
    for name, versions in texts.items():
        each = [rendered(t, spm, name, v) for v in versions]
        assert all(e == each[0] for e in each), "the versions of %s differ" % name
        templates[name] = {"sha256": [hashlib.sha256(v.encode()).hexdigest() for v in versions], "prompts": each[0]}
    return {"made_by": "check_chat_golden.py --write", "markers": MARKERS, "dialogues": dialogues(), "templates": templates}, texts


def recognised(text):
    """What the product says of a file with this template."""
    with tempfile.TemporaryDirectory() as tmp:
        write(tmp + "/t.gguf", text)
        run = subprocess.run([SERVELAB, "model", "info", tmp + "/t.gguf", "--json"], stdout=subprocess.PIPE)
        return json.loads(run.stdout)["tokenizer"]["chat_template"] if run.returncode == 0 else "exit %d" % run.returncode


def main():
    made, texts = make(sys.argv[1])
    lines = ",\n".join("    %s: {\"sha256\": %s,\n      \"prompts\": %s}" % (json.dumps(n), json.dumps(v["sha256"]), json.dumps(v["prompts"]))
                       for n, v in made["templates"].items())
    text = "{\"made_by\": %s,\n \"markers\": %s,\n \"dialogues\": [\n%s],\n \"templates\": {\n%s}}\n" % (
        json.dumps(made["made_by"]), json.dumps(MARKERS), ",\n".join(json.dumps(d) for d in made["dialogues"]), lines)
    if "--write" in sys.argv:
        open(GOLDEN, "w").write(text)
        return 0
    results = [("the golden file is what transformers gives", open(GOLDEN).read() == text)]
    for name, versions in texts.items():
        for i, v in enumerate(versions):
            seen = [recognised(v), recognised(v + "\n"), recognised(v + " "), recognised(v.replace("messages", "message", 1))]
            results.append(("%s, text %d, is recognised and its neighbours are not: %s" % (name, i, seen),
                            seen[0] == seen[1] != "unknown" == seen[2] == seen[3]))
    for n, (what, ok) in enumerate(results):
        print("%sok %d - %s" % ("" if ok else "not ", n + 1, what))
    print("1..%d" % len(results))
    return 0 if all(ok for _, ok in results) else 1


sys.exit(main())
