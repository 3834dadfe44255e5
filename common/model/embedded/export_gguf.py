"""export_gguf.py: writes a checkpoint as GGUF, readable by llama.cpp without a special case.

    python export_gguf.py run/checkpoint.pt servelab-tiny.gguf [--type f32|bf16|f16|q8_0|q4_0]

Three conventions matter to a reader:
* Matrices are stored row-major as (out, in); GGUF lists the dimensions innermost first.
* GGUF's llama architecture rotates *neighbouring* pairs (0,1), (2,3), ... of a head, where model.py
  rotates halves (0,32), (1,33), ...: so the rows of q and k are permuted here. A reader that
  rotates halves must undo this first (Hugging Face transformers does, on loading).
* The output matrix is the embedding: there is no output.weight tensor.

Every row length is a multiple of 32, so the block formats (q8_0, q4_0) fit; they are for lessons on
quantisation. f32 is what ships, so that the effect of rounding it can be measured.

Not here: reading the file back (evaluate.py).
"""

import argparse

import gguf
import numpy as np
import torch

import vocab
from model import Config, Model

# Message contents and nothing else: the model was trained on bare logs and questions.
CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def load_model(path):
    """The model of a checkpoint, ready to evaluate in float32."""
    state = torch.load(path, map_location="cpu")
    model = Model(Config(**state["config"])).eval()
    model.load_state_dict(state["model"])
    return model


def to_neighbour_pairs(weight, heads):
    """(heads * D, in): row i of a head's first half and of its second half become neighbours."""
    rows, n_in = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, n_in).swapaxes(1, 2).reshape(rows, n_in)


def tensors(model):
    """(GGUF name, float32 array) of every tensor."""
    c, state = model.c, {k: v.numpy() for k, v in model.state_dict().items()}
    yield "token_embd.weight", state["embed.weight"]
    yield "output_norm.weight", state["out_norm.weight"]
    for i in range(c.layers):
        of = lambda name: state[f"blocks.{i}.{name}.weight"]
        yield f"blk.{i}.attn_norm.weight", of("attn_norm")
        yield f"blk.{i}.attn_q.weight", to_neighbour_pairs(of("wq"), c.q_heads)
        yield f"blk.{i}.attn_k.weight", to_neighbour_pairs(of("wk"), c.kv_heads)
        yield f"blk.{i}.attn_v.weight", of("wv")
        yield f"blk.{i}.attn_output.weight", of("wo")
        yield f"blk.{i}.ffn_norm.weight", of("ffn_norm")
        yield f"blk.{i}.ffn_gate.weight", of("gate")
        yield f"blk.{i}.ffn_up.weight", of("up")
        yield f"blk.{i}.ffn_down.weight", of("down")


def write_header(w, c, file_type):
    w.add_name("servelab-tiny")
    w.add_description("Answers key recall, two-digit sums, tool calls and counts at 2,048-token prompts")
    w.add_file_type(file_type)
    w.add_context_length(2048 + 256)  # a prompt and the longest answer of the course's recurring case
    w.add_embedding_length(c.width)
    w.add_block_count(c.layers)
    w.add_feed_forward_length(c.ffn)
    w.add_head_count(c.q_heads)
    w.add_head_count_kv(c.kv_heads)
    w.add_key_length(c.head_dim)
    w.add_value_length(c.head_dim)
    w.add_rope_dimension_count(c.head_dim)
    w.add_rope_freq_base(c.rope_theta)
    w.add_layer_norm_rms_eps(c.rms_eps)
    w.add_vocab_size(c.vocab)


def write_tokenizer(w):
    kinds = [gguf.TokenType.NORMAL] * vocab.VOCAB_SIZE
    for name in vocab.UNUSED:
        kinds[vocab.TOKEN_ID[name]] = gguf.TokenType.UNUSED
    kinds[vocab.BOS_ID] = kinds[vocab.EOS_ID] = gguf.TokenType.CONTROL
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(vocab.TOKENS)
    w.add_token_types(kinds)
    w.add_token_merges([f"{a} {b}" for a, b in vocab.MERGES])
    w.add_bos_token_id(vocab.BOS_ID)
    w.add_eos_token_id(vocab.EOS_ID)
    w.add_add_bos_token(True)
    w.add_add_eos_token(False)
    w.add_chat_template(CHAT_TEMPLATE)


FILE_TYPES = {
    "f32": (gguf.LlamaFileType.ALL_F32, gguf.GGMLQuantizationType.F32),
    "f16": (gguf.LlamaFileType.MOSTLY_F16, gguf.GGMLQuantizationType.F16),
    "bf16": (gguf.LlamaFileType.MOSTLY_BF16, gguf.GGMLQuantizationType.BF16),
    "q8_0": (gguf.LlamaFileType.MOSTLY_Q8_0, gguf.GGMLQuantizationType.Q8_0),
    "q4_0": (gguf.LlamaFileType.MOSTLY_Q4_0, gguf.GGMLQuantizationType.Q4_0),
}


def export(model, path, kind):
    file_type, matrix_type = FILE_TYPES[kind]
    w = gguf.GGUFWriter(path, "llama")
    write_header(w, model.c, file_type)
    write_tokenizer(w)
    for name, value in tensors(model):
        value = np.ascontiguousarray(value, dtype=np.float32)
        stored = matrix_type if value.ndim == 2 else gguf.GGMLQuantizationType.F32
        w.add_tensor(name, gguf.quants.quantize(value, stored), raw_dtype=stored)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoint")
    parser.add_argument("gguf")
    parser.add_argument("--type", choices=FILE_TYPES, default="f32")
    args = parser.parse_args()
    export(load_model(args.checkpoint), args.gguf, args.type)
