"""model.py: the Llama-family decoder that train.py trains and evaluate.py runs.

One forward pass with explicit positions (training jumps in position so that short sequences teach
far distances), grouped-query attention, and an optional KV cache.
RoPE here rotates the two *halves* of a head (the Hugging Face layout); export_gguf.py permutes
q and k rows to the interleaved pairs that GGUF's llama architecture expects.

Not here: the optimiser (train.py), the tasks (data.py).
"""

import math
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn

from vocab import KEY_LETTERS, VOCAB_SIZE, encode


@dataclass
class Config:
    vocab: int = VOCAB_SIZE
    width: int = 128
    layers: int = 4
    q_heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64  # 32 was tried: far worse at telling one-character key symbols apart
    ffn: int = 384
    rope_theta: float = 1e6
    rms_eps: float = 1e-5
    context: int = 2048 + 256  # positions beyond 2,112 are declared, but not trained

    to_dict = asdict


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):  # (..., width), computed in float32
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate_halves(x, cos, sin):
    """x (B, H, T, D) turned by the angles in cos, sin (B or 1, 1, T, D/2)."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def attend_in_chunks(q, k, v, chunk=128):
    """Causal attention (B, H, T, D) as plain matrix products over chunks of queries.

    Under torch.compile on a CPU this is 1.7 times as fast, forward and backward, as the fused
    kernel at T of 256 to 512, and half of all training time goes here.
    """
    T, out = q.shape[2], []
    q, k_t = q * (1 / math.sqrt(q.shape[-1])), k.transpose(2, 3).contiguous()
    for start in range(0, T, chunk):
        end = min(T, start + chunk)
        seen = torch.arange(end)[None] <= torch.arange(start, end)[:, None]
        scores = (q[:, :, start:end] @ k_t[..., :end]).float()
        weights = torch.where(seen, scores, -1e30).softmax(-1)
        out.append(weights.to(v.dtype) @ v[:, :, :end])
    return torch.cat(out, 2)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        linear = lambda n_in, n_out: nn.Linear(n_in, n_out, bias=False)
        self.attn_norm = RMSNorm(c.width, c.rms_eps)
        self.wq = linear(c.width, c.q_heads * c.head_dim)
        self.wk = linear(c.width, c.kv_heads * c.head_dim)
        self.wv = linear(c.width, c.kv_heads * c.head_dim)
        self.wo = linear(c.q_heads * c.head_dim, c.width)
        self.ffn_norm = RMSNorm(c.width, c.rms_eps)
        self.gate = linear(c.width, c.ffn)
        self.up = linear(c.width, c.ffn)
        self.down = linear(c.ffn, c.width)

    def attend(self, x, cos, sin, cache):
        c, (B, T, _) = self.c, x.shape
        heads = lambda y, n: y.view(B, T, n, c.head_dim).transpose(1, 2)
        q = rotate_halves(heads(self.wq(x), c.q_heads), cos, sin)
        k = rotate_halves(heads(self.wk(x), c.kv_heads), cos, sin)
        v = heads(self.wv(x), c.kv_heads)
        mask, causal = None, True
        if cache is not None:
            past = 0
            if "k" in cache:
                past = cache["k"].shape[2]
                k = torch.cat((cache["k"].expand(B, -1, -1, -1), k), 2)
                v = torch.cat((cache["v"].expand(B, -1, -1, -1), v), 2)
            cache["k"], cache["v"] = k, v
            if past:
                mask = torch.ones(T, past + T, dtype=torch.bool).tril(past)
                causal = False
        group = c.q_heads // c.kv_heads  # query head h reads KV head h // group
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        q, k = q.to(v.dtype), k.to(v.dtype)  # autocast leaves v in bf16, rotation makes float32
        if self.training:
            o = attend_in_chunks(q, k, v)
        else:
            o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.wo(o.transpose(1, 2).reshape(B, T, c.q_heads * c.head_dim))

    def forward(self, x, cos, sin, cache=None):
        x = x + self.attend(self.attn_norm(x), cos, sin, cache)
        h = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self, c, seed=0):
        super().__init__()
        self.c = c
        self.embed = nn.Embedding(c.vocab, c.width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.out_norm = RMSNorm(c.width, c.rms_eps)
        half = c.head_dim // 2
        inv_freq = c.rope_theta ** (-torch.arange(half).float() / half)
        self.register_buffer("inv_freq", inv_freq, persistent=False)
        self.init_weights(torch.Generator().manual_seed(seed))

    @torch.no_grad()
    def init_weights(self, g):
        c, std = self.c, 0.1
        self.embed.weight.normal_(0, std, generator=g)
        for name, p in self.named_parameters():
            if p.dim() == 2 and "embed" not in name:
                p.normal_(0, 1 / math.sqrt(p.shape[1]), generator=g)
                if name.endswith(("wo.weight", "down.weight")):
                    p.mul_(0.1)  # a residual stream that starts almost as the embedding
        self.start_heads(g, std)

    def start_heads(self, g, std):
        """Gives layer 0's four query heads something useful to look at from the first step.

        Recall needs "what came just before me" and "whose record am I in" before anything else can be
        learnt. So heads 0 and 1 start looking 1 and 2 positions back; heads 2 and 3 look for the
        nearest key letter with, and without, a space before it: the two letters of the key at hand.
        Any two symbols of a key tell it from the other keys of its log.

        How: embeddings get a shared direction for "any token", one for " K"-like and one for "K"-like
        tokens. KV head 0 turns the first into a vector whose RoPE angle peaks at a wanted offset: fast
        frequencies, which tell neighbours apart. KV head 1 turns the other two into vectors on slow
        frequencies, which fall off over some tens of positions, so the nearest letter wins.
        """
        c, half = self.c, self.c.head_dim // 2
        any_token, spaced, bare = torch.randint(0, 2, (3, c.width), generator=g).float() * 2 - 1
        self.embed.weight += std * any_token
        for letter in KEY_LETTERS:
            self.embed.weight[encode(" " + letter)] += std * spaced
            self.embed.weight[encode(letter)] += std * bare
        block, D = self.blocks[0], c.head_dim
        block.wq.weight *= 0.5
        block.wk.weight *= 0.5
        read = lambda direction: direction / c.width  # about 0.7 where a normed state has it
        fast = (torch.arange(half) < 7 * half // 16).float()
        slow = [torch.zeros(half), torch.zeros(half)]  # disjoint: one kind of letter each
        slow[0][4:12:2] = slow[1][5:12:2] = 1.0
        zeros = torch.zeros(half)
        block.wk.weight[:D] += 3.0 * torch.outer(torch.cat([fast, zeros]), read(any_token))
        for head in (0, 1):
            angle = -self.inv_freq * (head + 1)
            query = torch.cat([fast * angle.cos(), fast * angle.sin()])
            block.wq.weight[head * D : (head + 1) * D] += 3.0 * torch.outer(query, read(any_token))
        for head, f, letters in ((2, slow[0], spaced), (3, slow[1], bare)):
            wanted = torch.cat([f, zeros])
            block.wk.weight[D:] += 6.0 * torch.outer(wanted, read(letters))
            block.wq.weight[head * D : (head + 1) * D] += 6.0 * torch.outer(wanted, read(any_token))

    def hidden(self, ids, positions=None, caches=None):
        """Final normed states (B, T, width). positions defaults to what follows the cache."""
        if positions is None:
            past = caches[0]["k"].shape[2] if caches and "k" in caches[0] else 0
            positions = torch.arange(past, past + ids.shape[1])[None]
        angle = positions.float()[:, None, :, None] * self.inv_freq
        cos, sin = angle.cos(), angle.sin()
        x = self.embed(ids)
        for i, block in enumerate(self.blocks):
            x = block(x, cos, sin, caches[i] if caches else None)
        return self.out_norm(x)

    def logits(self, hidden):
        return F.linear(hidden, self.embed.weight)

    def new_caches(self):
        return [{} for _ in self.blocks]
