"""small_folder.py: writes small Hugging Face folders for tests, independent of the C code and with the standard library
alone: config.json and safetensors files with random weights that are the same on every machine; and the same models as
GGUF files.
"""
import json, math, os, random, struct
import small_gguf

D, FFN, VOCAB, CONTEXT = 32, 48, 37, 256
LLAMA = dict(model_type="llama", architectures=["LlamaForCausalLM"], rms_norm_eps=1e-5)
MISTRAL = dict(model_type="mistral", architectures=["MistralForCausalLM"], rms_norm_eps=1e-5, sliding_window=None,
               rope_theta=1e6)
QWEN2 = dict(model_type="qwen2", architectures=["Qwen2ForCausalLM"], rms_norm_eps=1e-6, rope_theta=1e6,
             use_sliding_window=False, sliding_window=64, max_window_layers=1)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}

# name: fields of config.json beside the shape, storage type, number of files
VARIANTS = {
    "llama2": (LLAMA, "F32", 1),
    "llama2_bf16": (LLAMA, "BF16", 2),
    "llama2_f16": (dict(LLAMA, num_key_value_heads=2), "F16", 3),
    "llama31": (dict(LLAMA, num_key_value_heads=2, rope_theta=5e5, rope_scaling=LLAMA3), "BF16", 2),
    "llama32": (dict(LLAMA, num_key_value_heads=1, tie_word_embeddings=True,
                     rope_parameters=dict(LLAMA3, rope_theta=5e5, factor=32.0)), "F32", 1),
    "mistral_v03": (dict(MISTRAL, num_key_value_heads=2, head_dim=12), "BF16", 1),
    "mistral_v01": (dict(MISTRAL, num_key_value_heads=1, sliding_window=9, rope_theta=1e4), "F32", 1),
    "qwen25": (dict(QWEN2, num_key_value_heads=2), "BF16", 3),
    "qwen25_tied": (dict(QWEN2, num_key_value_heads=1, tie_word_embeddings=True), "F32", 1),
    "qwen2_window": (dict(QWEN2, num_key_value_heads=2, use_sliding_window=True, sliding_window=7), "F32", 1),
    "smollm2": (dict(LLAMA, num_attention_heads=3, num_key_value_heads=1, hidden_size=48, rope_theta=1e5,
                     tie_word_embeddings=True, rope_interleaved=False, is_llama_config=True), "BF16", 1),
    "linear": (dict(LLAMA, rope_scaling={"type": "linear", "factor": 4.0}), "F32", 1),
    "yarn": (dict(LLAMA, num_key_value_heads=2,
                  rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}), "F32", 1),
    "yarn_settings": (dict(QWEN2, num_key_value_heads=2,
                           rope_parameters={"rope_type": "yarn", "rope_theta": 1e4, "factor": 8.0, "beta_fast": 16.0,
                                            "beta_slow": 2.0, "attention_factor": 1.3,
                                            "original_max_position_embeddings": 32}), "F32", 1),
}
TOKENS = 60
POSITIONS = [0, 5, 11, 33, 59]  # whose logits are in the golden file


def config(name):
    fields = dict(vocab_size=VOCAB, hidden_size=D, intermediate_size=FFN, num_hidden_layers=3, num_attention_heads=4,
                  num_key_value_heads=4, max_position_embeddings=CONTEXT, hidden_act="silu", attention_dropout=0.0,
                  bos_token_id=1, eos_token_id=2, initializer_range=0.02, use_cache=True, tie_word_embeddings=False)
    return dict(fields, **VARIANTS[name][0])


def tokens(name):
    r = random.Random("tokens of " + name)
    return [r.randrange(VOCAB) for _ in range(TOKENS)]


def shapes(c):
    """Names and shapes of the tensors, in the file's order."""
    d, ffn, head = c["hidden_size"], c["intermediate_size"], c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    q, kv = c["num_attention_heads"] * head, c["num_key_value_heads"] * head
    out = {"model.embed_tokens.weight": (c["vocab_size"], d), "model.norm.weight": (d,)}
    if not c["tie_word_embeddings"]:
        out["lm_head.weight"] = (c["vocab_size"], d)
    for i in range(c["num_hidden_layers"]):
        for part, shape in (("input_layernorm", (d,)), ("self_attn.q_proj", (q, d)), ("self_attn.k_proj", (kv, d)),
                            ("self_attn.v_proj", (kv, d)), ("self_attn.o_proj", (d, q)), ("post_attention_layernorm", (d,)),
                            ("mlp.gate_proj", (ffn, d)), ("mlp.up_proj", (ffn, d)), ("mlp.down_proj", (d, ffn))):
            out[f"model.layers.{i}.{part}.weight"] = shape
            if c["model_type"] == "qwen2" and part[-6:] in ("q_proj", "k_proj", "v_proj"):
                out[f"model.layers.{i}.{part}.bias"] = shape[:1]
    return out


def values(r, name, shape):
    n = shape[0] * (shape[1] if len(shape) > 1 else 1)
    width = 1.0 if len(shape) == 1 else 2.0 / shape[1] ** 0.5
    return [r.uniform(-width, width) + ("norm" in name) for _ in range(n)]


def packed(values_, dtype):
    if dtype == "BF16":  # cut off, which every reader widens to the same number
        return b"".join(struct.pack("<f", v)[2:] for v in values_)
    return struct.pack("<%d%s" % (len(values_), {"F32": "f", "F16": "e"}[dtype]), *values_)


def safetensors(tensors, metadata={"format": "pt"}):
    """The bytes of a file; tensors: (name, dtype, shape, bytes)."""
    header, data = {"__metadata__": metadata}, b""
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def write_json(folder, name, doc):
    with open(os.path.join(folder, name), "w") as f:
        json.dump(doc, f)


def weights(name):
    """(name, dtype, shape, bytes) of each tensor."""
    r, dtype = random.Random("weights of " + name), VARIANTS[name][1]
    return [(t, dtype, s, packed(values(r, t, s), dtype)) for t, s in shapes(config(name)).items()]


def write(folder, name):
    """Writes variant `name` and returns its config."""
    c, files, tensors = config(name), VARIANTS[name][2], weights(name)
    os.makedirs(folder, exist_ok=True)
    write_json(folder, "config.json", c)
    weight_map = {}
    for i in range(files):
        part = tensors[i::files]
        file = "model.safetensors" if files == 1 else "model-%05d-of-%05d.safetensors" % (i + 1, files)
        with open(os.path.join(folder, file), "wb") as f:
            f.write(safetensors(part))
        weight_map.update({t[0]: file for t in part})
    if files > 1:
        write_json(folder, "model.safetensors.index.json",
                   {"metadata": {"total_size": sum(len(t[3]) for t in tensors)}, "weight_map": weight_map})
    return c


# ---- the same models as GGUF files -----------------------------------------------------------------------------------
def unpacked(raw, dtype):
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0] for i in range(0, len(raw), 2)]
    return list(struct.unpack("<%d%s" % (len(raw) // (4 if dtype == "F32" else 2), {"F32": "f", "F16": "e"}[dtype]), raw))


def neighbours(v, shape, heads):
    """Rows of q or k as GGUF's llama files order them: the two halves of a rotation side by side."""
    rows, cols = shape
    half = rows // heads // 2
    order = [h * 2 * half + part * half + i for h in range(heads) for i in range(half) for part in range(2)]
    return [v[r * cols + k] for r in order for k in range(cols)]


NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
         "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(name):
    parts = name.rsplit(".", 1)
    if not name.startswith("model.layers."):
        return NAMES[parts[0]] + "." + parts[1]
    _, _, layer, rest = parts[0].split(".", 3)
    return f"blk.{layer}.{NAMES[rest]}.{parts[1]}"


def gguf_keys(c):
    """As llama.cpp's converter writes them."""
    arch = "qwen2" if c["model_type"] == "qwen2" else "llama"
    u32, f32, word = small_gguf.u32, small_gguf.f32, lambda k, v: small_gguf.key(k, 8, small_gguf.text(v))
    head = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    rope = c.get("rope_scaling") or c.get("rope_parameters") or {}
    keys = [word("general.architecture", arch)]
    for k, v in (("block_count", c["num_hidden_layers"]), ("context_length", CONTEXT), ("embedding_length", c["hidden_size"]),
                 ("feed_forward_length", c["intermediate_size"]), ("attention.head_count", c["num_attention_heads"]),
                 ("attention.head_count_kv", c["num_key_value_heads"]), ("attention.key_length", head),
                 ("attention.value_length", head), ("rope.dimension_count", head)):
        keys.append(u32(f"{arch}.{k}", v))
    keys += [f32(arch + ".attention.layer_norm_rms_epsilon", c["rms_norm_eps"]),
             f32(arch + ".rope.freq_base", rope.get("rope_theta", c.get("rope_theta", 1e4)))]
    kind = rope.get("rope_type", rope.get("type"))
    if kind in ("linear", "yarn"):
        keys += [word(arch + ".rope.scaling.type", kind), f32(arch + ".rope.scaling.factor", rope["factor"])]
    if kind == "yarn":
        keys.append(u32(arch + ".rope.scaling.original_context_length", rope["original_max_position_embeddings"]))
        for field, k in (("beta_fast", "yarn_beta_fast"), ("beta_slow", "yarn_beta_slow")):
            if field in rope:
                keys.append(f32(f"{arch}.rope.scaling.{k}", rope[field]))
        if "attention_factor" in rope:
            keys.append(f32(arch + ".rope.scaling.attn_factor", rope["attention_factor"] / (1 + 0.1 * math.log(rope["factor"]))))
    if c["model_type"] == "mistral" and c["sliding_window"]:
        keys.append(u32(arch + ".attention.sliding_window", c["sliding_window"]))
    if c.get("use_sliding_window"):
        slides = [i >= c["max_window_layers"] for i in range(c["num_hidden_layers"])]
        keys += [u32(arch + ".attention.sliding_window", c["sliding_window"]),
                 small_gguf.key(arch + ".attention.sliding_window_pattern", 9, struct.pack("<IQ", 7, len(slides)) + bytes(slides))]
    return keys


def llama3_factors(c):
    rope = c.get("rope_scaling") or c.get("rope_parameters")
    head, theta = c["hidden_size"] // c["num_attention_heads"], rope.get("rope_theta", c.get("rope_theta"))
    low, high, old, factor = (rope[k] for k in ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings", "factor"))
    out = []
    for i in range(0, head, 2):
        wave = 2 * math.pi * theta ** (i / head)
        smooth = (old / wave - low) / (high - low)
        out.append(1.0 if wave < old / high else factor if wave > old / low else 1 / ((1 - smooth) / factor + smooth))
    return out


def write_gguf(path, name, more_keys=()):
    """The variant as a GGUF file, in F32."""
    c, tensors, numbers = config(name), [], {}
    for t, dtype, shape, raw in weights(name):
        v, part = unpacked(raw, dtype), t.split(".")[-2]
        if c["model_type"] != "qwen2" and part in ("q_proj", "k_proj"):
            v = neighbours(v, shape, c["num_attention_heads" if part == "q_proj" else "num_key_value_heads"])
        tensors.append((gguf_name(t), shape[::-1]))
        numbers[gguf_name(t)] = v
    if "low_freq_factor" in (c.get("rope_scaling") or c.get("rope_parameters") or {}):
        numbers["rope_freqs.weight"] = llama3_factors(c)
        tensors.append(("rope_freqs.weight", (len(numbers["rope_freqs.weight"]),)))
    small_gguf.write(path, gguf_keys(c) + list(more_keys), tensors, numbers)
