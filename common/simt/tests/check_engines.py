#!/usr/bin/env python3
"""check_engines.py: public single-file CUDA engines, unmodified, compiled by simtcc, generate the tokens of their CPU versions.

    ENGINES=FOLDER common/simt/tests/check_engines.py

No package has these files, so FOLDER holds clones, by their owners and names on GitHub:

    git clone https://github.com/rogerallen/llama2.cu FOLDER/rogerallen/llama2.cu       run.cu: float, cuBLAS, CUB
    git clone https://github.com/ankan-ban/llama2.cu FOLDER/ankan-ban/llama2.cu         llama2.cu: half, CUB; run.c
    git clone https://github.com/karpathy/llama2.c FOLDER/karpathy/llama2.c             run.c: their CPU version

Without ENGINES it says so and skips. The model and its tokenizer are made here, in llama2.c's format, with random weights. Another
commit than the one that was tried is named in the test's line. TAP.

What they needed of simt: CUB, << < for <<<, and a copy from a device address under cudaMemcpyHostToDevice, which check mode refuses
(rogerallen's run.cu copies the embedding so).

Not here: karpathy/llm.c's train_gpt2_fp32.cu (f1e2ace651495b74). It compiles, but its results depend on who is first: check mode
reports that fused_classifier_kernel3 reads a logit for the loss while another thread overwrites it, and that two barriers are
missing around block_acc of softmax_autoregressive_backward_kernel. On the CPU, where one warp runs after another, its losses differ
from train_gpt2.c's.
"""
import hashlib
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

from tap import COMPILERS, SIMTCC, finish, tap

TRIED = {  # commit, first half of the file's SHA-256
    "rogerallen/llama2.cu/run.cu": ("8a0381708c07", "95c62f8b135aa8de"),
    "ankan-ban/llama2.cu/llama2.cu": ("cb0c6fa08386", "4a2bd0b6c1134914"),
    "ankan-ban/llama2.cu/run.c": ("cb0c6fa08386", "0b1071ae08dd2af5"),
    "karpathy/llama2.c/run.c": ("350e04fe3543", "9c4f2d5c6ae01b71"),
}


def make_model(path, kv_heads, dim=64, hidden=176, layers=3, heads=4, vocabulary=512, context=128):
    """llama2.c's format: seven integers, then all weights in float; last two tables that newer versions skip.

    The matrices are numbers that half has, so that the engine in half begins with the same model. Its activations are rounded
    all the same: with such a model, whose choices are clear, no token of these runs depends on it; with another one some do.
    """
    r = random.Random(3)
    kv = dim * kv_heads // heads

    def matrix(count, inputs):
        halves = struct.pack("<%de" % count, *(r.gauss(0, 1.4 * inputs ** -0.5) for _ in range(count)))
        return struct.pack("<%df" % count, *struct.unpack("<%de" % count, halves))

    def norm(count):
        return struct.pack("<%df" % count, *(1 + r.gauss(0, 0.1) for _ in range(count)))

    angles = [t * 10000 ** (-2 * i * heads / dim) for t in range(context) for i in range(dim // heads // 2)]
    with open(path, "wb") as f:
        f.write(struct.pack("<7i", dim, hidden, layers, heads, kv_heads, vocabulary, context))
        f.write(matrix(vocabulary * dim, 16) + norm(layers * dim))
        for outputs in (dim, kv, kv, dim):
            f.write(matrix(layers * outputs * dim, dim))
        f.write(norm(layers * dim) + matrix(layers * dim * hidden, dim) + matrix(layers * dim * hidden, hidden))
        f.write(matrix(layers * dim * hidden, dim) + norm(dim))
        f.write(struct.pack("<%df" % len(angles), *map(math.cos, angles)) + struct.pack("<%df" % len(angles), *map(math.sin, angles)))


def make_tokenizer(path, vocabulary=512):
    r = random.Random(8)
    words = [b"<unk>", b"\n<s>\n", b"\n</s>\n"] + [b"<0x%02X>" % i for i in range(256)] + [bytes([c]) for c in range(32, 127)]
    while len(words) < vocabulary:
        word = bytes(r.choice(b"abcdefghijklmnopqrstuvwxyz ") for _ in range(3))
        if word not in words:
            words.append(word)
    with open(path, "wb") as f:
        f.write(struct.pack("<i", max(map(len, words))))
        for i, word in enumerate(words):
            f.write(struct.pack("<fi", -float(i), len(word)) + word)


def text_of(program, work, *args):
    """What it generated: its output without the lines about the model and the speed."""
    ran = subprocess.run([program, *args], cwd=work, capture_output=True, timeout=600)
    if ran.returncode:
        raise RuntimeError("%s: exit status %d: %s" % (os.path.basename(program), ran.returncode, ran.stderr.decode()[-300:]))
    text = ran.stdout.decode(errors="replace")
    return text.split("<s>\n")[-1].split("\nachieved tok/s")[0]


def compare(name, programs, work, runs):
    for what, args in runs:
        try:
            want, *got = [text_of(p, work, *args) for p in programs]
        except RuntimeError as e:
            tap(False, "%s, %s" % (name, what), [e])
            continue
        tap(len(want) > 40 and all(g == want for g in got), "%s generates the CPU version's tokens: %s" % (name, what), [want] + got)


def source(folder, name):
    path = os.path.join(folder, name)
    with open(path, "rb") as f:
        same = hashlib.sha256(f.read()).hexdigest()[:16] == TRIED[name][1]
    return path, name + ("" if same else " (another version than commit %s)" % TRIED[name][0])


def build(args, name):
    done = subprocess.run(args, capture_output=True, text=True)
    tap(done.returncode == 0, name, done.stderr.split("\n"))
    return done.returncode == 0


def engine(folder, work, cuda, cpu, kv_heads, runs, flags=()):
    """One engine under each compiler, beside its CPU version."""
    (cuda_file, label), (cpu_file, _) = source(folder, cuda), source(folder, cpu)
    reference = os.path.join(work, "cpu")
    if not build(["gcc", "-O2", "-w", cpu_file, "-o", reference, "-lm"], "%s compiles" % cpu):
        return
    programs = [reference]
    for compiler in (c for c in COMPILERS if " " not in c):
        program = os.path.join(work, compiler)
        if build([SIMTCC, "--cxx=" + compiler, *flags, cuda_file, "-o", program], "%s, unmodified, under %s" % (label, compiler)):
            programs.append(program)
    make_model(os.path.join(work, "model.bin"), kv_heads)
    if len(programs) > 1:
        compare(label, programs, work, runs)


def main():
    folder = os.environ.get("ENGINES")
    if not folder or not all(os.path.exists(os.path.join(folder, name)) for name in TRIED):
        tap(True, "public CUDA engines # SKIP ENGINES names no folder with %s (see the head of check_engines.py)" % ", ".join(TRIED))
        return finish()
    prompt = "hello world"
    with tempfile.TemporaryDirectory() as work:
        make_tokenizer(os.path.join(work, "tokenizer.bin"))
        engine(folder, work, "rogerallen/llama2.cu/run.cu", "karpathy/llama2.c/run.c", 2, [
            ("greedy", ["model.bin", "-t", "0", "-n", "100", "-i", prompt]),
            ("sampled", ["model.bin", "-t", "1.2", "-p", "0.9", "-s", "42", "-n", "100", "-i", prompt])], ["-DUSE_CUDA"])
        engine(folder, work, "ankan-ban/llama2.cu/llama2.cu", "ankan-ban/llama2.cu/run.c", 4,
               [("greedy", ["model.bin", "0", "70", p]) for p in (prompt, "once upon a time")])
    return finish()


if __name__ == "__main__":
    sys.exit(main())
