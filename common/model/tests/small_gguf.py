"""small_gguf.py: writes small GGUF files for tests, independent of the C code: a vocabulary of the 256 bytes, two merges and
three markers, and a model of one layer.
"""
import math, struct


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def key(name, kind, payload):
    return text(name) + struct.pack("<I", kind) + payload


def strings(items):
    return struct.pack("<IQ", 8, len(items)) + b"".join(map(text, items))


def alphabet():
    visible = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    hidden = [b for b in range(256) if b not in visible]
    return [chr(b) if b in visible else chr(256 + hidden.index(b)) for b in range(256)]


TOKENS = alphabet() + ["He", "Hel", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
KINDS = [1] * 258 + [3] * 3
END_OF_TEXT, START, END = 258, 259, 260
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
          "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def u32(name, v):
    return key(name, 4, struct.pack("<I", v))


def f32(name, v):
    return key(name, 6, struct.pack("<f", v))


def vocabulary(end_kind=3, eos=END):
    """Keys of the vocabulary; <|im_end|> has the kind `end_kind` (3: control, 4: user-defined)."""
    kinds = KINDS[:-1] + [end_kind]
    return [key("tokenizer.ggml.model", 8, text("gpt2")), key("tokenizer.ggml.pre", 8, text("smollm")),
            key("tokenizer.ggml.tokens", 9, strings(TOKENS)),
            key("tokenizer.ggml.token_type", 9, struct.pack("<IQ%di" % len(kinds), 5, len(kinds), *kinds)),
            key("tokenizer.ggml.merges", 9, strings(["H e", "He l"])),
            u32("tokenizer.ggml.bos_token_id", 258), u32("tokenizer.ggml.eos_token_id", eos),
            key("tokenizer.chat_template", 8, text(CHATML))]


def write(path, keys, tensors=(), values={}):
    """Writes a file; tensors are float32 zeros, or `values` by name."""
    info, data = b"", b""
    for name, dims in tensors:
        data += b"\0" * (-len(data) % 32)
        info += text(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, 0, len(data))
        n = math.prod(dims)
        data += struct.pack("<%df" % n, *values.get(name, [0.0] * n))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + info
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32) + data)


def model():
    """Keys and tensors of a model of one layer, d_model 8."""
    keys = [key("general.architecture", 8, text("llama")), key("general.name", 8, text("mini"))]
    for name, v in (("block_count", 1), ("context_length", 64), ("embedding_length", 8), ("feed_forward_length", 12),
                    ("attention.head_count", 2), ("attention.head_count_kv", 1)):
        keys.append(u32("llama." + name, v))
    keys.append(f32("llama.attention.layer_norm_rms_epsilon", 1e-5))
    b = "blk.0."
    return keys, [("token_embd.weight", (8, len(TOKENS))), ("output_norm.weight", (8,)), (b + "attn_norm.weight", (8,)),
                  (b + "attn_q.weight", (8, 8)), (b + "attn_k.weight", (8, 4)), (b + "attn_v.weight", (8, 4)),
                  (b + "attn_output.weight", (8, 8)), (b + "ffn_norm.weight", (8,)), (b + "ffn_gate.weight", (8, 12)),
                  (b + "ffn_up.weight", (8, 12)), (b + "ffn_down.weight", (12, 8))]


def says_a():
    """Weights of a model that says "a", then <|im_end|> for ever. The layer adds nothing, so the last token alone decides:
    after "a" and the marker comes the marker, after every other token "a"."""
    tokens = range(len(TOKENS))
    a = TOKENS.index("a")
    unit = lambda i: [float(k == i) for k in range(8)]
    return {"token_embd.weight": [x for t in tokens for x in unit(0 if t in (a, END) else 1)],
            "output_norm.weight": [1.0] * 8,
            "output.weight": [x for t in tokens for x in (unit(0) if t == END else unit(1) if t == a else [0.0] * 8)]}
