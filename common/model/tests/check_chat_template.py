#!/usr/bin/env python3
"""check_chat_template.py: our prompts against Jinja's, for each chat template that we recognise.

The template's text runs through Jinja as Hugging Face runs it (trim_blocks, lstrip_blocks); ours goes through the product
(test_tokenizer_golden --chat). The vocabulary is made here and has only bytes and markers, so that the ids show exactly
which text was encoded and which markers were put in. With build/models/smollm2.gguf, its template is checked too. Prints TAP. Needs jinja2.
"""
import os, random, struct, subprocess, sys, tempfile
from jinja2.sandbox import ImmutableSandboxedEnvironment

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PROGRAM = os.path.join(os.environ.get("OBJ", os.path.join(TOP, "build/obj/gcc-release-solutions")),
                       "common/model/tests/test_tokenizer_golden")
SMOLLM2 = os.path.join(TOP, "build/models/smollm2.gguf")
MARKERS = ["<|begin_of_text|>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]

CHATML = (r"{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
          r"{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
DEFAULT = (r"{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
           r"{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}")
LLAMA3 = (r"{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
          r"message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
          r"{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}")
OPENING = r"{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
PLAIN = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
TEMPLATES = {
    "Qwen2": DEFAULT + CHATML,
    "ChatML": "{% for message in messages %}" + CHATML,
    "Llama 3": LLAMA3 + OPENING,
    "Llama 3, later": LLAMA3 + "{% if add_generation_prompt %}" + OPENING + "{% endif %}",
    "plain": PLAIN,
    "plain with bos": "{{ bos_token }}" + PLAIN,
}


def text(s):
    s = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(s)) + s


def alphabet():
    visible = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    hidden = [b for b in range(256) if b not in visible]
    return [chr(b) if b in visible else chr(256 + hidden.index(b)) for b in range(256)]


def write(path, template):
    tokens = alphabet() + MARKERS
    kinds = [1] * 256 + [3] * len(MARKERS)
    keys = [("tokenizer.ggml.model", 8, text("gpt2")), ("tokenizer.ggml.pre", 8, text("gpt-2")),
            ("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, len(tokens)) + b"".join(map(text, tokens))),
            ("tokenizer.ggml.token_type", 9, struct.pack("<IQ%di" % len(kinds), 5, len(kinds), *kinds)),
            ("tokenizer.ggml.merges", 9, struct.pack("<IQ", 8, 0)),
            ("tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 256)), ("tokenizer.chat_template", 8, text(template))]
    with open(path, "wb") as f:
        f.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)))
        for name, kind, payload in keys:
            f.write(text(name) + struct.pack("<I", kind) + payload)


def smollm2_template():
    """The template's text, found by the bytes before it in the file."""
    if not os.path.exists(SMOLLM2):
        return None
    with open(SMOLLM2, "rb") as f:
        head = f.read(4 << 20)
    name = text("tokenizer.chat_template") + struct.pack("<I", 8)
    at = head.index(name) + len(name)
    (n,) = struct.unpack_from("<Q", head, at)
    return head[at + 8:at + 8 + n].decode()


def dialogues(seed):
    rng = random.Random(seed)
    parts = ["hi", " there", "\n", "\n\n", "  ", "\t", "é", "🙂", "\u00a0", "\u3000", "\u2028", "{{ x }}", "{% y %}", "'", '"', "\\n",
             "1", "\x1f", "\u200b", "\r\n", "<|", "|>", ""]
    for _ in range(300):
        messages = []
        for i in range(rng.randrange(1, 7)):
            role = rng.choice(["system", "user", "assistant"]) if i == 0 else rng.choice(["user", "assistant"])
            messages.append({"role": role, "content": "".join(rng.choice(parts) for _ in range(rng.randrange(0, 8)))})
        if not any(m in x["content"] for m in MARKERS for x in messages):
            yield messages


def frame(s):
    return struct.pack("<I", len(s)) + s


def to_ids(rendered):
    ids, i, data = [], 0, rendered.encode()
    while i < len(data):
        marker = next((k for k, m in enumerate(MARKERS) if data.startswith(m.encode(), i)), None)
        ids.append(data[i] if marker is None else 256 + marker)
        i += 1 if marker is None else len(MARKERS[marker])
    return ids


def compare(name, template, folder):
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    jinja, path, all_messages = env.from_string(template), folder + "/t.gguf", list(dialogues(name))
    write(path, template)
    stdin = b"".join(struct.pack("<I", len(ms)) + b"".join(frame(m[k].encode()) for m in ms for k in ("role", "content"))
                     for ms in all_messages)
    run = subprocess.run([PROGRAM, "--chat", path], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode:
        return run.stderr.decode()
    at = 0
    for messages in all_messages:
        (n,) = struct.unpack_from("<I", run.stdout, at)
        got = list(struct.unpack_from("<%di" % (n // 4), run.stdout, at + 4))
        at += 4 + n
        want = to_ids(jinja.render(messages=messages, add_generation_prompt=True, bos_token=MARKERS[0], eos_token=MARKERS[2]))
        if got != want:
            return "%r gave %s, want %s" % (messages, got, want)
    return ""


def main():
    TEMPLATES["SmolLM2"] = smollm2_template()
    n = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, template in TEMPLATES.items():
            n += 1
            if template is None:
                print("ok %d - Jinja: %s # SKIP build/models/smollm2.gguf isn't here" % (n, name))
                continue
            why = compare(name, template, folder)
            failed += why != ""
            print("%sok %d - Jinja: %s%s" % ("not " if why else "", n, name, ": " + why if why else ""))
    print("1..%d" % n)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
