#!/usr/bin/env python3
"""bench_vs_llamacpp.py: the native backend beside llama.cpp: same file, threads, run and machine, taking turns.

Needs llama-cpp-python built from source with the machine's vector instructions, for example

    CMAKE_ARGS="-DGGML_NATIVE=ON" pip install --no-binary :all: llama-cpp-python
    make bench && python common/backend/cpu/bench/bench_vs_llamacpp.py --model build/models/smollm2.gguf --threads 2

Prints, for prefill and for decode at depth 0 and behind the prompt, the median and the spread of both engines and the
median of the turn-by-turn ratios (above 1: we are faster). A ratio within a turn survives a noisy neighbour that a
median of seconds does not. Wall time counts; CPU time is printed because on a shared machine it is the steadier one.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[4]
METRICS = [("prefill", "prompt_tokens"), ("decode_shallow", "decode_tokens"), ("decode_deep", "decode_tokens")]


def resident_kib():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4


class LlamaCpp:
    """llama.cpp's C interface, used as its own benchmark does: random ids, no sampling, cache cleared."""

    def __init__(self, args):
        import llama_cpp
        before = resident_kib()
        self.lib, self.args = llama_cpp, args
        self.quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)  # kept alive with the engine
        llama_cpp.llama_log_set(self.quiet, None)
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = llama_cpp.llama_model_load_from_file(str(args.model).encode(), params)
        c = llama_cpp.llama_context_default_params()
        c.n_seq_max = args.batch
        c.n_ctx = args.batch * ((args.prompt + args.decode + 255) // 256 * 256)  # llama.cpp pads each sequence so
        c.n_batch = max(args.prompt, args.batch)
        c.n_ubatch = args.step
        c.n_threads = c.n_threads_batch = args.threads
        self.ctx = llama_cpp.llama_init_from_model(self.model, c)
        vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        ids = np.random.default_rng(0).integers(0, vocab, args.prompt)
        self.ids = ids.tolist()
        self.batch = llama_cpp.llama_batch_init(c.n_batch, 0, 1)
        self.before = before
        self.name = f"llama-cpp-python {llama_cpp.__version__}: {llama_cpp.llama_print_system_info().decode()}"

    def feed(self, tokens, sequences, pos):
        """tokens: one list a sequence, which begins at pos; logits of each last one, as llama-batched-bench asks."""
        b, n = self.batch, 0
        for seq, ids in zip(sequences, tokens):
            for i, token in enumerate(ids):
                b.token[n], b.pos[n], b.n_seq_id[n] = token, pos + i, 1
                b.seq_id[n][0], b.logits[n] = seq, i == len(ids) - 1
                n += 1
        b.n_tokens = n
        if self.lib.llama_decode(self.ctx, b) != 0:
            raise SystemExit("llama_decode failed")
        self.lib.llama_synchronize(self.ctx)

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.ctx), True)

    @staticmethod
    def timed(work):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        return time.perf_counter() - wall, time.process_time() - cpu

    def prefill(self):
        for seq in range(self.args.batch):
            self.feed([self.ids], [seq], 0)

    def decode(self, depth):
        n = self.args.batch
        for i in range(self.args.decode):
            self.feed([[self.ids[(i + seq) % self.args.prompt]] for seq in range(n)], range(n), depth + i)

    def turn(self):
        self.clear()
        out = {"prompt_tokens": self.args.batch * self.args.prompt, "decode_tokens": self.args.batch * self.args.decode}
        out["prefill_wall_s"], out["prefill_cpu_s"] = self.timed(self.prefill)
        out["decode_deep_wall_s"], out["decode_deep_cpu_s"] = self.timed(lambda: self.decode(self.args.prompt))
        self.clear()
        out["decode_shallow_wall_s"], out["decode_shallow_cpu_s"] = self.timed(lambda: self.decode(0))
        out["resident_kib"] = resident_kib() - self.before
        return out


def our_turn(args):
    run = subprocess.run([args.bench, args.model, "--threads", str(args.threads), "--prompt", str(args.prompt),
                          "--decode", str(args.decode), "--step", str(args.step), "--reps", "1", "--batch", str(args.batch),
                          "--precision", args.precision, "--kv-type", args.kv_type, *args.ours],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def spread(values):
    return f"{statistics.median(values):8.1f} [{min(values):.1f} .. {max(values):.1f}]"


def report(ours, theirs, clock):
    print(f"\ntokens/s by {clock} time, median [least .. most]     ours                        llama.cpp")
    for metric, count in METRICS:
        a = [r[count] / r[f"{metric}_{clock}_s"] for r in ours]
        b = [r[count] / r[f"{metric}_{clock}_s"] for r in theirs]
        ratios = [x / y for x, y in zip(a, b)]
        print(f"  {metric:16s} {spread(a):>30s} {spread(b):>30s}   ratio {spread(ratios).strip()}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", type=pathlib.Path, default=ROOT / "build/models/smollm2.gguf")
    p.add_argument("--bench", default=ROOT / "build/obj/gcc-release-solutions/common/backend/cpu/bench/bench_cpu")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--prompt", type=int, default=2048)
    p.add_argument("--decode", type=int, default=128)
    p.add_argument("--step", type=int, default=512)
    p.add_argument("--batch", type=int, default=1, help="sequences decoded together")
    p.add_argument("--precision", choices=["exact", "fast"], default="exact", help="ours")
    p.add_argument("--kv-type", choices=["f32", "f16"], default="f32", help="ours; llama.cpp's is f16")
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("ours", nargs="*", help="further flags for bench_cpu, after --")
    args = p.parse_args()
    engine = LlamaCpp(args)
    print(engine.name)
    ours, theirs = [], []
    for turn in range(args.turns):
        ours.append(our_turn(args))
        theirs.append(engine.turn())
        print(f"turn {turn + 1} of {args.turns}", file=sys.stderr, flush=True)
    print(f"{args.precision}, cache {args.kv_type}, {args.threads} threads, batch {args.batch}, prompt {args.prompt} in steps of {args.step}, {args.decode} tokens decoded, "
          f"{args.turns} turns, kernels {ours[0]['kernels']}")
    mib = [statistics.median(r["resident_kib"] for r in side) / 1024 for side in (ours, theirs)]
    print(f"resident at the end: ours {mib[0]:.1f} MiB, llama.cpp {mib[1]:.1f} MiB more than before loading, "
          f"ratio {mib[0] / mib[1]:.2f}")
    report(ours, theirs, "wall")
    report(ours, theirs, "cpu")


if __name__ == "__main__":
    main()
