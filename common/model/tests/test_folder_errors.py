#!/usr/bin/env python3
"""test_folder_errors.py: wrong Hugging Face folders are refused in one line that names the file, the field or tensor, and
what to do. Each case changes one thing of a folder that small_folder.py wrote.
"""
import json, os, shutil, struct, subprocess, sys, tempfile
import small_folder

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
INDEX, ONE, PART = "model.safetensors.index.json", "model.safetensors", "model-00002-of-00002.safetensors"
NORM = "model.norm.weight"
n = failed = 0


def check(ok, name, detail=""):
    global n, failed
    n, failed = n + 1, failed + (not ok)
    print("%sok %d - %s%s" % ("" if ok else "not ", n, name, "" if ok else ": " + repr(detail)[:600]))


# ---- changes ---------------------------------------------------------------------------------------------------------
def rewrite(file, change):
    """The change of a JSON file."""
    def run(folder):
        path = os.path.join(folder, file)
        doc = json.load(open(path))
        doc = change(doc) or doc
        json.dump(doc, open(path, "w"))
    return run


def field(key, value, file="config.json"):
    return rewrite(file, lambda doc: doc.__setitem__(key, value))


def without(key):
    return rewrite("config.json", lambda doc: doc.pop(key) and None)


def header(change, file=ONE):
    """The change of a safetensors header."""
    def run(folder):
        path = os.path.join(folder, file)
        raw = open(path, "rb").read()
        size = struct.unpack("<Q", raw[:8])[0]
        doc = json.loads(raw[8:8 + size])
        text = json.dumps(change(doc) or doc).encode()
        text += b" " * (-len(text) % 8)
        open(path, "wb").write(struct.pack("<Q", len(text)) + text + raw[8 + size:])
    return run


def of_tensor(key, value, name=NORM):
    return header(lambda doc: doc[name].__setitem__(key, value))


def raw(change, file=ONE):
    def run(folder):
        path = os.path.join(folder, file)
        old = open(path, "rb").read()
        open(path, "wb").write(change(old))
    return run


def remove(file):
    return lambda folder: os.remove(os.path.join(folder, file))


def add(file, text):
    return lambda folder: open(os.path.join(folder, file), "w").write(text)


def link(file):
    """The file becomes a link to nothing, as in a copy of a cache without its blobs."""
    def run(folder):
        path = os.path.join(folder, file)
        if os.path.exists(path):
            os.remove(path)
        os.symlink("../../blobs/0123", path)
    return run


def mapped(change):
    return rewrite(INDEX, lambda doc: change(doc["weight_map"]))


def duplicate(folder):
    path = os.path.join(folder, ONE)
    old = open(path, "rb").read()
    size = struct.unpack("<Q", old[:8])[0]
    text = old[8:8 + size].rstrip()
    entry = json.dumps(json.loads(text)[NORM]).encode()
    text = text[:-1] + b', "' + NORM.encode() + b'": ' + entry + b"}"
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + old[8 + size:])


def twice(folder):
    """The first tensor of part 1 is in part 2 too."""
    c = json.load(open(os.path.join(folder, "config.json")))
    shape = (c["vocab_size"], c["hidden_size"])
    tensor = ("model.embed_tokens.weight", "BF16", shape, bytes(2 * shape[0] * shape[1]))
    open(os.path.join(folder, PART), "wb").write(small_folder.safetensors([tensor]))


SCALING = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 64}

# name, variant, change, what the line must say
CASES = [
    # config.json
    ("no config.json", "llama2", remove("config.json"), ["config.json", "not in the folder", "GGUF file"]),
    ("a config.json that ends early", "llama2", add("config.json", '{\n"model_type": "llama",\n'), ["config.json:3", "cut off"]),
    ("config.json is a list", "llama2", add("config.json", "[]"), ["config.json", "not a JSON object"]),
    ("an unknown architecture", "llama2", field("model_type", "gpt_neox"), ["config.json: model_type", "'gpt_neox'", "qwen2"]),
    ("another class", "llama2", field("architectures", ["LlamaForSequenceClassification"]), ["architectures", "LlamaForCausalLM"]),
    ("an unknown field", "llama2", field("logits_scaling", 8.0), ["config.json: logits_scaling", "is 8", "not known"]),
    ("another activation", "llama2", field("hidden_act", "gelu"), ["hidden_act", "gelu", "silu"]),
    ("biases everywhere", "llama2", field("attention_bias", True), ["attention_bias", "only false"]),
    ("a part of each head", "llama2", field("partial_rotary_factor", 0.5), ["partial_rotary_factor", "0.5"]),
    ("quantised", "llama2", field("quantization_config", {"quant_method": "gptq"}), ["quantization_config", "GPTQ", "unquantised"]),
    ("code of its own", "llama2", field("auto_map", {"AutoModel": "x.Y"}), ["auto_map", "only null"]),
    ("no width", "llama2", without("hidden_size"), ["config.json: hidden_size", "is missing"]),
    ("a width of 0", "llama2", field("hidden_size", 0), ["config.json: hidden_size", "0"]),
    ("a width in words", "llama2", field("hidden_size", "32"), ["config.json: hidden_size", "whole number"]),
    ("a fraction of a layer", "llama2", field("num_hidden_layers", 2.5), ["config.json: num_hidden_layers", "whole number"]),
    ("too many layers", "llama2", field("num_hidden_layers", 100000), ["config.json: num_hidden_layers", "100000"]),
    ("a layer more than there is", "llama2", field("num_hidden_layers", 4), ["model.layers.3.", "missing"]),
    ("a layer fewer", "llama2", field("num_hidden_layers", 2), ["model.layers.2.", "no such tensor"]),
    ("KV heads that don't divide", "llama2", field("num_key_value_heads", 3), ["config.json: num_key_value_heads", "3"]),
    ("Mistral without KV heads", "mistral_v03", without("num_key_value_heads"), ["num_key_value_heads", "is missing"]),
    ("another width", "llama2", field("hidden_size", 64), ["model.safetensors: model.embed_tokens.weight", "37 x 32"]),
    ("another vocabulary", "llama2", field("vocab_size", 40), ["config.json: vocab_size", "40", "37"]),
    ("a width that the heads don't divide", "llama2", field("hidden_size", 33), ["config.json: hidden_size", "33", "num_attention_heads"]),
    ("odd heads", "llama2", field("head_dim", 7), ["config.json: head_dim", "7"]),
    ("eps in words", "llama2", field("rms_norm_eps", "1e-5"), ["config.json: rms_norm_eps"]),
    ("an eps of 2", "llama2", field("rms_norm_eps", 2), ["config.json: rms_norm_eps", "is 2"]),
    ("a theta of 0", "llama2", field("rope_theta", 0), ["config.json: rope_theta", "is 0"]),
    ("dynamic scaling", "llama2", field("rope_scaling", {"type": "dynamic", "factor": 2.0}), ["rope_scaling", "dynamic", "yarn"]),
    ("longrope", "llama2", field("rope_scaling", {"rope_type": "longrope", "short_factor": [1]}), ["rope_scaling", "short_factor"]),
    ("yarn of another kind", "llama2", field("rope_scaling", {"type": "yarn", "factor": 2.0, "mscale": 0.7}), ["rope_scaling", "mscale"]),
    ("scaling without factor", "llama2", field("rope_scaling", {"type": "linear"}), ["rope_scaling.factor", "missing"]),
    ("scaling by a negative factor", "llama2", field("rope_scaling", {"type": "linear", "factor": -2}), ["rope_scaling.factor", "-2"]),
    ("llama3 without its context", "llama2", field("rope_scaling", dict(SCALING, original_max_position_embeddings=None)),
     ["rope_scaling.original_max_position_embeddings"]),
    ("llama3 the wrong way round", "llama2", field("rope_scaling", dict(SCALING, low_freq_factor=8.0)), ["high_freq_factor"]),
    ("a window that isn't stated", "mistral_v03", without("sliding_window"), ["config.json: sliding_window", "4096"]),
    ("a negative window", "mistral_v03", field("sliding_window", -1), ["config.json: sliding_window", "-1"]),
    ("a window in Llama", "llama2", field("sliding_window", 8), ["config.json: sliding_window"]),
    ("layers of another number", "qwen2_window", field("layer_types", ["full_attention"]), ["config.json: layer_types", "3 entries"]),
    ("layers of another kind", "qwen2_window", field("layer_types", ["linear_attention"] * 3), ["layer_types", "entry 0"]),
    ("layers that slide without a window", "qwen25", field("layer_types", ["sliding_attention"] * 3), ["layer_types", "layer 0"]),
    # which files
    ("no weights", "llama2", remove(ONE), ["model.safetensors", "index.json", "neither"]),
    ("a missing part", "llama2_bf16", remove(PART), [INDEX, PART, "not in the folder", "fetch"]),
    ("an index without a map", "llama2_bf16", field("weight_map", None, INDEX), [INDEX + ": weight_map"]),
    ("an index that isn't JSON", "llama2_bf16", add(INDEX, "weights\n"), [INDEX + ":1"]),
    ("a file outside of the folder", "llama2_bf16", mapped(lambda m: m.__setitem__(NORM, "../x.safetensors")), [NORM, "not named as"]),
    ("a file of pickled weights", "llama2_bf16", mapped(lambda m: m.__setitem__(NORM, "pytorch_model.bin")), [NORM, "not named as"]),
    ("a tensor that the index doesn't name", "llama2_bf16", mapped(lambda m: m.pop(NORM) and None), [NORM, "doesn't name it"]),
    ("a tensor in the other part", "llama2_bf16",
     mapped(lambda m: m.__setitem__(NORM, sorted(set(m.values()) - {m[NORM]})[0])), [NORM, "but in model-0000"]),
    ("a tensor in no part", "llama2_bf16", mapped(lambda m: m.__setitem__("model.layers.0.x.weight", PART)), ["layers.0.x", "is not in"]),
    ("a tensor in two parts", "llama2_bf16", twice, ["model.embed_tokens.weight", "again in"]),
    ("a link to nothing: config.json", "llama2", link("config.json"), ["config.json", "can't be opened"]),
    ("a link to nothing: the tokenizer", "llama2", link("tokenizer.json"), ["tokenizer.json", "can't be opened"]),
    ("a link to nothing: the weights", "llama2", link(ONE), [ONE, "can't be opened"]),
    ("a link to nothing: a part", "llama2_bf16", link(PART), [PART, "can't be opened"]),
    # a file
    ("an empty file", "llama2", raw(lambda b: b""), [ONE, "is empty", "download"]),
    ("a file of 5 bytes", "llama2", raw(lambda b: b[:5]), [ONE, "5 bytes"]),
    ("a truncated header", "llama2", raw(lambda b: b[:100]), [ONE, "header", "download"]),
    ("truncated data", "llama2", raw(lambda b: b[:-100]), [ONE, "data", "download"]),
    ("a truncated part", "llama2_bf16", raw(lambda b: b[:-2], PART), [PART, "data", "download"]),
    ("bytes at the end", "llama2", raw(lambda b: b + b"xx"), [ONE, "last 2 bytes"]),
    ("a header of 2^60 bytes", "llama2", raw(lambda b: struct.pack("<Q", 1 << 60) + b[8:]), [ONE, "header of 1152921504606846976"]),
    ("a header that isn't JSON", "llama2", raw(lambda b: b[:8] + b"x" + b[9:]), [ONE, "not valid JSON"]),
    ("a header that is a list", "llama2", raw(lambda b: struct.pack("<Q", 2) + b"[]"), [ONE, "not a JSON object"]),
    ("a name that occurs twice", "llama2", duplicate, [ONE, NORM, "twice"]),
    ("a GGUF file under this name", "llama2", raw(lambda b: b"GGUF\3\0\0\0" + b), [ONE, "Is it a safetensors file?"]),
    ("a folder of that name", "llama2", lambda f: (os.remove(f + "/" + ONE), os.mkdir(f + "/" + ONE)), [ONE, "regular file"]),
    # a tensor
    ("an unknown type", "llama2", of_tensor("dtype", "Q7"), [ONE, NORM, "'Q7'"]),
    ("integers", "llama2", of_tensor("dtype", "I32"), [ONE, NORM, "I32", "BF16"]),
    ("half the type", "llama2", of_tensor("dtype", "BF16"), [ONE, NORM, "128 bytes", "64"]),
    ("another shape", "llama2", of_tensor("shape", [33]), [ONE, NORM, "132"]),
    ("a shape of one side too many", "llama2", of_tensor("shape", [4, 8]), [ONE, NORM, "4 x 8"]),
    ("three sides", "llama2", of_tensor("shape", [2, 2, 8]), [ONE, NORM, "neither a matrix nor a vector"]),
    ("no sides", "llama2", header(lambda d: d[NORM].update(shape=[], data_offsets=[0, 4])), [ONE]),
    ("a side of 0", "llama2", of_tensor("shape", [0]), [ONE, NORM, "need 0"]),
    ("a side of 2^40", "llama2", of_tensor("shape", [1 << 40, 1 << 40]), [ONE, NORM, "too large"]),
    ("a negative side", "llama2", of_tensor("shape", [-32]), [ONE, NORM, "isn't a count"]),
    ("a side in words", "llama2", of_tensor("shape", ["32"]), [ONE, NORM, "isn't a count"]),
    ("offsets out of the file", "llama2", of_tensor("data_offsets", [1 << 40, (1 << 40) + 128]), [ONE, NORM, "download"]),
    ("offsets the wrong way round", "llama2", of_tensor("data_offsets", [128, 0]), [ONE, NORM, "from byte 128 to 0"]),
    ("one offset", "llama2", of_tensor("data_offsets", [0]), [ONE, NORM, "data_offsets"]),
    ("offsets that overlap", "llama2", of_tensor("data_offsets", [0, 128]), [ONE, "overlaps"]),
    ("a gap", "llama2", header(lambda d: d.pop("model.layers.1.mlp.up_proj.weight") and None), [ONE, "no tensor has the"]),
    ("no offsets", "llama2", header(lambda d: d[NORM].pop("data_offsets") and None), [ONE, NORM, "data_offsets"]),
    ("a field too many", "llama2", of_tensor("scale", 2), [ONE, NORM, "'scale'"]),
    ("a tensor as a number", "llama2", header(lambda d: d.__setitem__("x", 3)), [ONE, "x", "JSON object"]),
    ("an unknown tensor", "llama2", header(lambda d: d.__setitem__("model.layers.0.self_attn.q_norm.weight", d.pop(NORM))),
     ["q_norm", "not supported"]),
    ("an unusual number", "llama2", header(lambda d: d.__setitem__("model.layers.00.input_layernorm.weight", d.pop(NORM))),
     ["model.layers.00.", "no such tensor"]),
    ("no head", "llama32", field("tie_word_embeddings", False), ["lm_head.weight", "tie_word_embeddings"]),
    ("no norm", "llama2", header(lambda d: d.__setitem__("model.layers.0.rotary_emb.inv_freq", d.pop(NORM))), [NORM, "missing"]),
    ("data at an odd byte", "llama2", raw(lambda b: struct.pack("<Q", struct.unpack("<Q", b[:8])[0] + 1) +
                                          b[8:8 + struct.unpack("<Q", b[:8])[0]] + b" " + b[8 + struct.unpack("<Q", b[:8])[0]:]),
     [ONE, "not aligned"]),
]


def accepted(tmp):
    """What must not be refused: a tied model that has its head, frequencies of old files, fields that say nothing."""
    folder = os.path.join(tmp, "accepted")
    small_folder.write(folder, "llama32")
    c = small_folder.config("llama32")
    tensors = [(name, "F32", s, bytes(4 * s[0] * (s[1] if len(s) > 1 else 1))) for name, s in small_folder.shapes(c).items()]
    tensors += [("lm_head.weight", "F32", (37, 32), bytes(4 * 37 * 32)), ("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", (4,), bytes(16))]
    open(os.path.join(folder, ONE), "wb").write(small_folder.safetensors(tensors, {"format": "pt", "made by": "test"}))
    small_folder.write_json(folder, "config.json", dict(c, torch_dtype="bfloat16", pretraining_tp=1, quantization_config=None,
                                                        transformers_version="4.40.0", attention_bias=False, head_dim=None))
    p = subprocess.run([SERVELAB, "model", "info", "--json", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    j = json.loads(p.stdout) if p.returncode == 0 else {}
    check(p.returncode == 0 and j["config"]["tied"] is True and j["config"]["window_tokens"] == 0 and j["config"]["name"] == "accepted", "what changes nothing is accepted", p.stderr)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        accepted(tmp)
        for i, (name, variant, change, wanted) in enumerate(CASES):
            folder = os.path.join(tmp, str(i))
            small_folder.write(folder, variant)
            change(folder)
            p = subprocess.run([SERVELAB, "model", "info", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            err = p.stderr.decode(errors="replace")
            ok = p.returncode == 2 and not p.stdout and err.count("\n") == 1 and folder in err and all(w in err for w in wanted)
            check(ok, name, (p.returncode, wanted, err))
            shutil.rmtree(folder)
    print("1..%d" % n)
    return 1 if failed else 0


sys.exit(main())
