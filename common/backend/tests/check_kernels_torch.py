#!/usr/bin/env python3
"""check_kernels_torch.py: what PyTorch computes, in float64, for small inputs of every kernel.

Needs torch and numpy. Without arguments it computes the outputs again and compares them with the committed file (TAP);
with --write it makes the file anew:

    common/backend/tests/golden/kernels.json    inputs and outputs, one case a kernel

test_kernel_golden.c holds our references in C against it on every machine. Inputs come from numpy's PCG64 with the seed
below, so that the file can be made again. Formulas are PyTorch's own functions wherever it has one.
"""
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden" / "kernels.json"
SCHEMA = "servelab.golden-kernels.v1"
TOLERANCE = 1e-8
SEED = 20260301
rng = np.random.default_rng(SEED)


def floats(*shape, scale=1.0):
    """Multiples of 1/256: exact as float, and short in the file."""
    return torch.from_numpy(np.round(rng.uniform(-1, 1, shape) * scale * 256) / 256)


def bf16(*shape):
    """Multiples of 1/64 below 1: exact as bf16."""
    return torch.from_numpy(np.round(rng.uniform(-1, 1, shape) * 64) / 64)


def ints(values):
    return torch.tensor(values, dtype=torch.int64)


def case(kernel, sizes, inputs, outputs, **scalars):
    text = " ".join(f"{k}={v}" for k, v in sizes.items())
    return {"kernel": kernel, "sizes": text, "scalars": scalars,
            "in": {k: v.flatten().tolist() for k, v in inputs.items()},
            "want": {k: [float(f"{x:.9g}") for x in v.flatten().tolist()] for k, v in outputs.items()}}


def copies():
    x = floats(11)
    yield case("copy", {"n": 11}, {"in": x}, {"out": x})
    x = floats(3, 24)
    yield case("copy_strided", {"rows": 3, "cols": 8, "stride": 24}, {"in": x}, {"out": x[:, :8]})


def rows():
    x, r, w = floats(3, 16), floats(3, 16, scale=3), floats(16)
    yield case("rmsnorm", {"rows": 3, "d": 16}, {"residual": r, "x": x, "weight": w},
               {"residual": r + x, "out": F.rms_norm(r + x, (16,), w, 1e-3)}, eps=1e-3)
    x = floats(3, 16, scale=40)
    yield case("softmax", {"rows": 3, "d": 16}, {"x": x}, {"out": torch.softmax(x, -1)})
    x = floats(3, 32, scale=4)
    yield case("swiglu", {"rows": 3, "d": 16}, {"gate_up": x}, {"out": F.silu(x[:, :16]) * x[:, 16:]})
    table, ids = bf16(9, 8), ints([8, 0, 3, 3])
    yield case("embedding", {"tokens": 4, "d": 8, "vocab": 9}, {"table": table, "id": ids},
               {"out": F.embedding(ids, table)})


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def rope():
    tokens, q_heads, kv_heads, d, positions, blocks = 3, 4, 2, 8, 9, 3
    q, k, v = floats(tokens, q_heads, d), floats(tokens, kv_heads, d), floats(tokens, kv_heads, d)
    kpool, vpool = bf16(blocks, kv_heads, 16, d), bf16(blocks, kv_heads, 16, d)
    cosines, sines = floats(positions, d // 2), floats(positions, d // 2)
    position, slot = ints([8, 0, 5]), ints([2 * 16 + 15, 0, 1 * 16 + 7])
    cos = torch.cat((cosines, cosines), -1)[position][:, None]
    sin = torch.cat((sines, sines), -1)[position][:, None]
    new_k, new_v = kpool.clone(), vpool.clone()
    new_k[slot // 16, :, slot % 16] = k * cos + rotate_half(k) * sin
    new_v[slot // 16, :, slot % 16] = v
    yield case("rope", {"tokens": tokens, "q_heads": q_heads, "kv_heads": kv_heads, "head_dim": d,
                        "positions": positions, "pool_blocks": blocks},
               {"q": q, "kpool": kpool, "vpool": vpool, "k": k, "v": v, "cosines": cosines, "sines": sines,
                "position": position, "slot": slot},
               {"q": q * cos + rotate_half(q) * sin, "kpool": new_k, "vpool": new_v})


def products():
    a, b = floats(3, 12), floats(12, 8)
    yield case("gemm", {"m": 3, "n": 8, "k": 12}, {"a": a, "b": b}, {"c": a @ b})
    w, x = bf16(5, 16), floats(16)
    yield case("gemv", {"rows": 5, "cols": 16}, {"w": w, "x": x}, {"y": F.linear(x, w)})
    w, scale = ints(rng.integers(-127, 128, (5, 16)).tolist()), floats(5, scale=0.1)
    yield case("gemv_int8", {"rows": 5, "cols": 16}, {"w": w, "scale": scale, "x": x},
               {"y": F.linear(x, w.double() * scale[:, None])})


def gathered(pool, table, keys):
    """(pool_blocks, kv_heads, 16, d) by a block table: (kv_heads, keys, d)"""
    kv_heads, d = pool.shape[1], pool.shape[3]
    return pool[table].transpose(0, 1).reshape(kv_heads, -1, d)[:, :keys]


def prefill():
    pos0, tokens, q_heads, kv_heads, d, blocks = 10, 9, 4, 2, 16, 4
    q = floats(tokens, q_heads, d, scale=3)
    kpool, vpool, table = bf16(blocks, kv_heads, 16, d), bf16(blocks, kv_heads, 16, d), ints([3, 1])
    k, v = (gathered(p, table, pos0 + tokens) for p in (kpool, vpool))
    mask = torch.arange(pos0 + tokens)[None] <= torch.arange(tokens)[:, None] + pos0
    out = F.scaled_dot_product_attention(q.transpose(0, 1)[None], k[None], v[None], attn_mask=mask[None, None],
                                         enable_gqa=True)[0].transpose(0, 1)
    yield case("attention_prefill", {"pos0": pos0, "tokens": tokens, "q_heads": q_heads, "kv_heads": kv_heads,
                                     "head_dim": d, "pool_blocks": blocks},
               {"q": q, "kpool": kpool, "vpool": vpool, "block_table": table}, {"out": out}, scale=0.25)


def decode():
    seqs, q_heads, kv_heads, d, blocks, splits = 2, 4, 2, 16, 6, 2
    q = floats(seqs, q_heads, d, scale=3)
    kpool, vpool = bf16(blocks, kv_heads, 16, d), bf16(blocks, kv_heads, 16, d)
    tables, lengths = ints([[5, 0, 2], [1, 4, 1]]), ints([37, 20])
    shape = (seqs, q_heads, splits)
    partial, greatest, total = torch.zeros(*shape, d).double(), torch.zeros(*shape).double(), torch.zeros(*shape).double()
    merged = torch.zeros(seqs, q_heads, d).double()
    for s in range(seqs):
        n = int(lengths[s])
        k, v = (gathered(p, tables[s], n).repeat_interleave(q_heads // kv_heads, 0) for p in (kpool, vpool))
        scores = torch.einsum("hd,hnd->hn", q[s], k) * 0.25
        merged[s] = F.scaled_dot_product_attention(q[s][:, None], k, v)[:, 0]
        step = -(-(-(-n // 16)) // splits) * 16
        for i in range(splits):
            part = scores[:, i * step:(i + 1) * step]
            greatest[s, :, i] = part.max(-1).values
            weights = torch.exp(part - greatest[s, :, i][:, None])
            total[s, :, i] = weights.sum(-1)
            partial[s, :, i] = torch.einsum("hn,hnd->hd", weights, v[:, i * step:(i + 1) * step])
    yield case("attention_decode", {"seqs": seqs, "max_blocks": 3, "q_heads": q_heads, "kv_heads": kv_heads,
                                    "head_dim": d, "splits": splits, "context": 37, "pool_blocks": blocks},
               {"q": q, "kpool": kpool, "vpool": vpool, "block_tables": tables, "length": lengths},
               {"partial": partial, "split_max": greatest, "split_sum": total}, scale=0.25)
    # joined, they are the attention over all keys; inputs are rounded to float, so this one is within 1e-6
    yield case("attention_merge", {"seqs": seqs, "q_heads": q_heads, "head_dim": d, "splits": splits},
               {"partial": partial.float().double(), "split_max": greatest.float().double(),
                "split_sum": total.float().double()}, {"out": merged})


def next_token():
    logits = floats(4, 40, scale=6)
    yield case("argmax", {"rows": 4, "vocab": 40}, {"logits": logits}, {"out": logits.argmax(-1)})
    temperature, top_k, top_p = 0.75, 12, 0.875
    uniform = torch.tensor([0.0, 0.3, 0.65, 0.97]).float().double()
    out = []
    for row, u in zip(logits / temperature, uniform):
        sorted_logits, order = torch.sort(row, descending=True, stable=True)
        probabilities = torch.softmax(sorted_logits[:top_k], -1)
        kept = order[:top_k][probabilities.cumsum(-1) - probabilities < top_p]
        kept = kept.sort().values
        running = torch.softmax(row[kept], -1).cumsum(-1)
        out.append(int(kept[torch.searchsorted(running, u, right=True)]))
    yield case("sample", {"rows": 4, "vocab": 40, "top_k": top_k}, {"logits": logits, "uniform": uniform},
               {"out": ints(out)}, temperature=temperature, top_p=top_p)


def all_cases():
    return [c for make in (copies, rows, rope, products, prefill, decode, next_token) for c in make()]


def main():
    cases = all_cases()
    if "--write" in sys.argv:
        head = {"schema": SCHEMA, "made_by": f"check_kernels_torch.py --write, torch {torch.__version__}, seed {SEED}"}
        lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
        GOLDEN.write_text(json.dumps(head)[:-1] + ',\n"cases": [\n' + lines + "\n]}\n")
        return 0
    kept, bad = json.loads(GOLDEN.read_text())["cases"], 0
    for i, (now, then) in enumerate(zip(cases, kept, strict=True), 1):
        right = now["kernel"] == then["kernel"] and now["in"] == then["in"]
        for name, values in now["want"].items():
            a, b = np.array(values), np.array(then["want"][name])
            right = right and a.shape == b.shape and bool(np.all(np.abs(a - b) <= TOLERANCE * np.abs(b).max()))
        bad += not right
        print(f"{'ok' if right else 'not ok'} {i} - {now['kernel']}: PyTorch computes what the committed file has")
    print(f"1..{len(cases)}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
