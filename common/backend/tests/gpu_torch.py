#!/usr/bin/env python3
"""gpu_torch.py: transformers on the card, for `make gpu-check`: eager, then torch.compile.

    gpu_torch.py DEVICE SHAPE CONTEXT SECONDS BATCH..

The shape, the weights' type (bf16, made up), the prompt's length and the timed runs are those of gpu_model.c: prefill of CONTEXT
tokens, and decode steps of BATCH sequences behind as many. Prints a JSON line a figure, with the same closed form of bytes and
operations. What doesn't fit into SECONDS is left out, with a line {"left_out": why}. SHAPE: mistral-7b, or tiny for a dry run.
"""
import json
import statistics
import sys
import time

START = time.monotonic()
STEPS, WARM, PREFILLS, CHUNK_TOKENS = 21, 3, 5, 8192
SHAPES = {
    "mistral-7b": {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
                   "intermediate_size": 14336, "vocab_size": 32768, "max_position_embeddings": 32768},
    "tiny": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128,
             "vocab_size": 512, "max_position_embeddings": 4096},
}


def main():
    if len(sys.argv) < 6 or sys.argv[2] not in SHAPES:
        sys.exit(__doc__)
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    device, context, seconds = sys.argv[1], int(sys.argv[3]), float(sys.argv[4])
    batches = [int(b) for b in sys.argv[5:]]
    torch.manual_seed(1)
    config = LlamaConfig(**SHAPES[sys.argv[2]], attn_implementation="sdpa", tie_word_embeddings=False)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(device), torch.inference_mode():
        bench = Bench(torch, LlamaForCausalLM(config).eval(), context, device)
        bench.prefill_time()
        for compiled in (False, True):
            for batch in batches:
                used = time.monotonic() - START
                # a compiled model takes as long as the whole of eager, or more
                if used > seconds * (0.6 if compiled else 0.9):
                    left_out(bench.name(compiled, batch), f"{used:.0f} of {seconds:.0f} s were used")
                    continue
                try:
                    bench.decode_time(batch, compiled)
                except torch.OutOfMemoryError:
                    left_out(bench.name(compiled, batch), "out of memory")
    return 0


def left_out(name, why):
    print(json.dumps({"left_out": f"{name}: {why}"}), flush=True)


class Bench:
    def __init__(self, torch, model, context, device):
        self.torch, self.model, self.context, self.device = torch, model, context, device
        self.compiled = None

    def name(self, compiled, batch):
        return f"{'torch.compile' if compiled else 'transformers'} decode, batch {batch} behind {self.context}"

    def tokens(self, batch, n):
        return self.torch.randint(0, self.model.config.vocab_size, (batch, n))

    def cache(self, static):
        from transformers import DynamicCache, StaticCache
        longest = self.context + STEPS + WARM + 8
        return StaticCache(config=self.model.config, max_cache_len=longest) if static else DynamicCache()

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def step(self, run, tokens, cache, at):
        """One forward pass of new tokens behind `at`; the logits of the last one."""
        positions = self.torch.arange(at, at + tokens.shape[1]).expand(tokens.shape[0], -1)
        return run(input_ids=tokens, past_key_values=cache, position_ids=positions, use_cache=True, logits_to_keep=1)

    def fill(self, batch, cache):
        """The prompts, in pieces that bound the memory."""
        piece = max(1, min(self.context, CHUNK_TOKENS // batch))
        for at in range(0, self.context, piece):
            self.step(self.model, self.tokens(batch, min(piece, self.context - at)), cache, at)

    def prefill_time(self):
        times = []
        for i in range(1 + PREFILLS):
            cache, prompt = self.cache(False), self.tokens(1, self.context)
            self.wait()
            start = time.monotonic()
            self.step(self.model, prompt, cache, 0)
            self.wait()
            if i:
                times.append(time.monotonic() - start)
        self.print_figure(f"transformers prefill of {self.context}", times, 1, self.context, 0)

    def decode_time(self, batch, compiled):
        cache, times, run = self.cache(compiled), [], self.model
        self.fill(batch, cache)
        if compiled:
            self.compiled = run = self.compiled or self.torch.compile(self.model, mode="reduce-overhead" if self.device == "cuda"
                                                                      else "default")
        for i in range(WARM + STEPS):
            tokens = self.tokens(batch, 1)
            self.wait()
            start = time.monotonic()
            self.step(run, tokens, cache, self.context + i)
            self.wait()
            if i >= WARM:
                times.append(time.monotonic() - start)
        self.print_figure(self.name(compiled, batch), times, batch, 1, self.context + WARM + STEPS // 2)

    def print_figure(self, name, times, seqs, tokens, before):
        """The closed form is that of print_form in gpu_model.c."""
        c = self.model.config
        head_dim = c.hidden_size // c.num_attention_heads
        q, kv = c.hidden_size, c.num_key_value_heads * head_dim
        matrices = c.num_hidden_layers * (2 * q * c.hidden_size + 2 * kv * c.hidden_size + 3 * c.intermediate_size * c.hidden_size)
        head, news = c.vocab_size * c.hidden_size, seqs * tokens
        pairs = news * (before + (tokens + 1) / 2)
        print(json.dumps({
            "name": name, "s": statistics.median(times), "least_s": min(times), "greatest_s": max(times),
            "bytes": 2 * (matrices + head) + 4 * kv * c.num_hidden_layers * (seqs * (before + tokens) + news),
            "operations": 2 * matrices * news + 2 * head * seqs + 4 * c.num_hidden_layers * q * pairs, "type": "bf16",
            "tokens": news}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
