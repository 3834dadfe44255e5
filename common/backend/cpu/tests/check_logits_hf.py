#!/usr/bin/env python3
"""check_logits_hf.py: golden logits of tiny random models from Hugging Face transformers in float32.

Needs torch, transformers, numpy and gguf. Without arguments it computes the logits again and compares them with the
committed files (TAP); with --write it makes the files anew:

    common/backend/tests/golden/NAME.gguf   the model, F32, about 20 kilobytes
    common/backend/tests/golden/NAME.json   token ids, the logits of every position, and how they were made

test_golden.c compares the native backend with them on every machine. The weights come from numpy's PCG64 with the seed
below, so that the files can be made again bit for bit; the logits may move in the last bits with another torch.
"""
import json
import pathlib
import sys
import tempfile

import gguf
import numpy as np
import torch
import transformers

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
SCHEMA = "servelab.golden-logits.v1"
TOLERANCE = 5e-6  # of the greatest logit; between two builds of torch

# name, architecture, heads, kv heads, head_dim, tied, rope scaling
VARIANTS = [
    ("mha", "llama", 4, 4, 8, False, None),
    ("gqa", "llama", 4, 2, 8, False, None),
    ("tied", "llama", 4, 2, 8, True, None),
    ("bias", "qwen2", 4, 2, 8, False, None),
    ("bias_tied", "qwen2", 4, 1, 8, True, None),
    ("wide_heads", "llama", 4, 2, 16, False, None),
    ("rope_factors", "llama", 2, 1, 16, False, {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                                "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
]
D, FFN, LAYERS, VOCAB, CONTEXT, TOKENS = 16, 24, 2, 37, 256, 40


def make_model(index, arch, heads, kv, head_dim, tied, scaling):
    shared = dict(vocab_size=VOCAB, hidden_size=D, intermediate_size=FFN, num_hidden_layers=LAYERS,
                  num_attention_heads=heads, num_key_value_heads=kv, max_position_embeddings=CONTEXT,
                  rms_norm_eps=1e-5, tie_word_embeddings=tied, head_dim=head_dim, attn_implementation="eager",
                  rope_parameters=dict(rope_theta=10000.0, **(scaling or {"rope_type": "default"})))
    if arch == "llama":
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shared))
    else:
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**shared))
    rng = np.random.default_rng(1000 + index)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if tied and name == "lm_head.weight":
                continue
            values = rng.uniform(-1, 1, p.shape) * (1.0 if p.ndim == 1 else 2.0 / np.sqrt(p.shape[-1]))
            p.copy_(torch.from_numpy((values + ("norm" in name)).astype(np.float32)))
    if tied:
        model.tie_weights()
    return model.eval().float()


def neighbours(w, heads):
    """Rows of q or k as GGUF's llama files order them: the two halves of a rotation side by side."""
    rows = w.shape[0] // heads
    return w.reshape(heads, 2, rows // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}


def write_gguf(path, model, name, arch, heads, kv, head_dim, tied, scaling):
    w = gguf.GGUFWriter(path, arch)
    w.add_name(f"servelab golden {name}")
    w.add_context_length(CONTEXT)
    w.add_embedding_length(D)
    w.add_block_count(LAYERS)
    w.add_feed_forward_length(FFN)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_key_length(head_dim)
    w.add_value_length(head_dim)
    w.add_rope_dimension_count(head_dim)
    w.add_rope_freq_base(10000.0)
    w.add_layer_norm_rms_eps(1e-5)
    for key, p in model.state_dict().items():
        a = p.detach().numpy().astype(np.float32)
        if key == "model.embed_tokens.weight":
            w.add_tensor("token_embd.weight", a)
        elif key == "model.norm.weight":
            w.add_tensor("output_norm.weight", a)
        elif key == "lm_head.weight":
            if not tied:
                w.add_tensor("output.weight", a)
        else:
            _, _, layer, rest = key.split(".", 3)
            part, kind = rest.rsplit(".", 1)
            if arch == "llama" and part in ("self_attn.q_proj", "self_attn.k_proj"):
                a = neighbours(a, heads if part.endswith("q_proj") else kv)
            w.add_tensor(f"blk.{layer}.{NAMES[part]}.{kind}", np.ascontiguousarray(a))
    if scaling:
        plain = 1.0 / (10000.0 ** (np.arange(0, head_dim, 2) / head_dim))
        scaled = model.model.rotary_emb.inv_freq.numpy()
        w.add_tensor("rope_freqs.weight", (plain / scaled).astype(np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make(index, folder):
    name, arch, heads, kv, head_dim, tied, scaling = VARIANTS[index]
    model = make_model(index, arch, heads, kv, head_dim, tied, scaling)
    write_gguf(folder / f"{name}.gguf", model, name, arch, heads, kv, head_dim, tied, scaling)
    tokens = np.random.default_rng(index).integers(0, VOCAB, TOKENS)
    with torch.no_grad():
        logits = model(torch.from_numpy(tokens)[None]).logits[0].numpy()
    doc = {"schema": SCHEMA, "model": f"{name}.gguf",
           "made_by": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, float32, "
                      "eager attention, CPU",
           "tokens": tokens.tolist(), "logits": [[float(np.format_float_scientific(v, 8)) for v in row]
                                                 for row in logits]}
    (folder / f"{name}.json").write_text(json.dumps(doc).replace("], [", "],\n["))
    return name


def main():
    torch.set_num_threads(1)
    if sys.argv[1:] == ["--write"]:
        GOLDEN.mkdir(parents=True, exist_ok=True)
        for i in range(len(VARIANTS)):
            print("wrote", make(i, GOLDEN))
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        for i in range(len(VARIANTS)):
            name = make(i, tmp)
            same = (tmp / f"{name}.gguf").read_bytes() == (GOLDEN / f"{name}.gguf").read_bytes()
            now = np.array(json.loads((tmp / f"{name}.json").read_text())["logits"])
            then = np.array(json.loads((GOLDEN / f"{name}.json").read_text())["logits"])
            error = np.abs(now - then).max() / np.abs(then).max()
            ok = same and np.isfinite(now).all() and error <= TOLERANCE
            failed += not ok
            print(f"{'ok' if ok else 'not ok'} {i + 1} - {name}: model file {'same' if same else 'DIFFERS'}, "
                  f"logits differ by {error:.1e} of the greatest")
    print(f"1..{len(VARIANTS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
