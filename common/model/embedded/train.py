"""train.py: trains the embedded model, start to end, repeatably.

    python train.py [--out DIR] [--workers 2]

Phases are counted in steps, every batch is drawn from a generator seeded by (seed, step, worker),
and the schedule is a function of the step, so a run can be repeated and an interrupted one resumes
from DIR/checkpoint.pt as if nothing had happened. Progress goes to stdout and DIR/train.log.

Shape of the run: sequences grow from 64 to 2,048 tokens. Looking a key up is learnt where it is
cheap, then stretched. Two one-thread workers with averaged gradients beat one two-thread process
on a CPU: most operations here are too small to split.

Numerics: float32 weights and optimiser, bfloat16 matrix products (autocast). Muon on the matrices
and Adam on embeddings and norms: Adam alone reached half the recall in the same time.

Not here: the tasks (data.py), the verdict (evaluate.py).
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections import namedtuple

import torch
import torch.distributed as dist
import torch.nn.functional as F

import data
from model import Config, Model

SEED = 0
LR_MUON = 0.02       # matrices; the update has unit spectral norm, so this is a step size as such
LR_ADAM = 2e-3       # embeddings and norms
WEIGHT_DECAY = 0.01
WARMUP_STEPS = 40
SPAN = 2112          # positions the model must know: 2,048 of prompt and 64 of answer
CHECKPOINT_S = 60

# batch: sequences per worker. mix: weights of recall, tool and sum questions. jumps, hard: shares of
# the sequences that leap in position, and whose log is of the misleading kind (alike_log_keys).
# arg_weight: loss weight of an operand copied into a tool call.
Phase = namedtuple("Phase", "steps tokens batch keys log_share mix jumps hard arg_weight")
EVEN = (0.5, 0.2, 0.3)
SUMS = (0.3, 0.1, 0.6)     # recall comes first and stays; carrying is learnt only after many sums
TOOLS = (0.35, 0.4, 0.25)  # copying numbers of one to three digits exactly is learnt last
FINAL = (0.3, 0.2, 0.5)    # and sums are then the weakest of the three
PHASES = [
    Phase(600, 64, 32, (2, 4), (0.35, 0.65), EVEN, 0.3, 0.3, 0.7),
    Phase(46, 128, 16, (2, 7), (0.35, 0.65), EVEN, 0.5, 0.3, 0.7),
    Phase(554, 128, 16, (2, 7), (0.25, 0.6), SUMS, 0.5, 0.3, 0.7),
    Phase(700, 256, 8, (3, 12), (0.3, 0.7), SUMS, 0.5, 0.3, 0.7),
    Phase(8, 512, 4, (6, 18), (0.35, 0.8), EVEN, 0.7, 0.3, 0.7),
    Phase(1096, 512, 4, (6, 18), (0.35, 0.8), TOOLS, 0.7, 0.3, 1.5),
    Phase(196, 512, 4, (6, 18), (0.35, 0.7), FINAL, 0.7, 0.3, 1.5),
    Phase(60, 2048, 2, (8, 18), (0.5, 0.9), FINAL, 0.0, 0.3, 1.5),
]

# (tokens so far, share of the full learning rate), with straight lines between.
RATE_POINTS = [(0, 1.0), (5_640_192, 1.0), (7_782_400, 0.689), (13_598_720, 0.02)]

# Loss weight of an answer token by kind. A whole JSON call is long and easy; the first recall digit
# is the lookup itself; the units digit of a sum carries no help from the digits before it; the
# letter after "find" is one token in eighty.
LOSS_WEIGHT = {data.RECALL_FIRST: 2.0, data.RECALL: 1.5, data.TOOL: 0.3, data.TOOL_ARG: 0.7,
               data.GET_LETTER: 2.0, data.SUM: 1.0, data.SUM_UNITS: 2.0, data.END: 0.5}


# ---- optimiser ----------------------------------------------------------------------------------


def orthogonalise(g):
    """Newton-Schulz: (N, rows, cols) to about U V^T of each. bf16 is enough, as Muon found."""
    x = g.bfloat16()
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.transpose(1, 2)
    for _ in range(5):
        y = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * y + 2.0315 * (y @ y)) @ x
    return (x.transpose(1, 2) if tall else x).float()


class Muon:
    """Momentum whose matrix updates are made orthogonal; equal shapes go through as one batch."""

    def __init__(self, matrices, momentum=0.95):
        self.momentum = momentum
        self.groups = {}
        for p in matrices:
            self.groups.setdefault(p.shape, []).append(p)
        self.buffers = {s: torch.zeros(len(ps), *s) for s, ps in self.groups.items()}

    def step(self, lr):
        for shape, ps in self.groups.items():
            g, buffer = torch.stack([p.grad for p in ps]), self.buffers[shape]
            buffer.mul_(self.momentum).add_(g)
            update = orthogonalise(g + self.momentum * buffer)
            scale = max(1, shape[0] / shape[1]) ** 0.5
            for p, u in zip(ps, update):
                p.mul_(1 - lr * WEIGHT_DECAY).add_(u, alpha=-lr * scale)


def rate(step, tokens_done):
    """The share of the full learning rate at this point of the run."""
    warm_up = min(1, (step + 1) / WARMUP_STEPS)
    for (t0, r0), (t1, r1) in zip(RATE_POINTS, RATE_POINTS[1:]):
        if t0 <= tokens_done < t1:
            return warm_up * (r0 + (r1 - r0) * (tokens_done - t0) / (t1 - t0))
    return RATE_POINTS[-1][1]


# ---- the run ------------------------------------------------------------------------------------


def phase_of(step):
    for number, phase in enumerate(PHASES):
        if step < phase.steps:
            return number, phase
        step -= phase.steps
    return None


def draw_batch(step, rank, phase):
    r = random.Random(f"{SEED}/{step}/{rank}")
    rows = [data.training_sequence(r, phase.tokens, phase.keys, phase.log_share, phase.mix,
                                   r.random() < phase.jumps, SPAN,
                                   r.random() < phase.hard)
            for _ in range(phase.batch)]
    return (torch.tensor(column) for column in zip(*rows))


def average_gradients(parameters, workers):
    if workers == 1:
        return
    flat = torch.cat([p.grad.flatten() for p in parameters])
    dist.all_reduce(flat)
    flat /= workers
    for p, part in zip(parameters, flat.split([p.numel() for p in parameters])):
        p.grad = part.view_as(p)


class Progress:
    """Accuracy and loss by kind of answer token since the last line."""

    def __init__(self, path):
        self.file = open(path, "a")
        self.since, self.tokens, self.counts = time.time(), 0, {}

    def say(self, text):
        print(text, flush=True)
        self.file.write(text + "\n")
        self.file.flush()

    def add(self, tokens, kinds, right, losses):
        self.tokens += tokens
        for kind in LOSS_WEIGHT:
            mask = kinds == kind
            got = self.counts.setdefault(kind, [0, 0, 0.0])
            got[0] += mask.sum().item()
            got[1] += right[mask].sum().item()
            got[2] += losses[mask].sum().item()

    def line(self, step, lr):
        now = time.time()
        shares = " ".join("%s %.3f/%.3f" % (data.KIND_NAMES[k], right / max(1, n), loss / max(1, n))
                          for k, (n, right, loss) in sorted(self.counts.items()))
        self.say(f"step {step} lr {lr:.2f} {self.tokens / (now - self.since):.0f} tok/s  {shares}")
        self.since, self.tokens, self.counts = now, 0, {}


def save(path, model, muon, adam, step, tokens_done):
    torch.save({"config": model.c.to_dict(), "model": model.state_dict(), "muon": muon.buffers,
                "adam": adam.state_dict(), "step": step, "tokens": tokens_done}, path + ".tmp")
    os.replace(path + ".tmp", path)  # an interrupted save leaves the last good file


def make_optimisers(model):
    """Muon for the matrices, Adam for embeddings and norms."""
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    norms = [p for p in model.parameters() if p.dim() == 1]
    adam = torch.optim.AdamW([{"params": [model.embed.weight], "weight_decay": WEIGHT_DECAY},
                              {"params": norms, "weight_decay": 0.0}],
                             lr=LR_ADAM, betas=(0.9, 0.98), eps=1e-9)
    return Muon(matrices), adam


def learn(model, hidden, parameters, muon, adam, weights, ids, kinds, positions, workers, lr):
    """One step: (logits, targets, kinds, losses) of the answer tokens. `hidden`: model.hidden, compiled."""
    target_kinds = kinds[:, 1:]
    asked = target_kinds > 0
    with torch.autocast("cpu", torch.bfloat16):
        h = hidden(ids[:, :-1], positions[:, :-1])
        logits = model.logits(h[asked]).float()
    targets, target_kinds = ids[:, 1:][asked], target_kinds[asked]
    losses = F.cross_entropy(logits, targets, reduction="none")
    w = weights[target_kinds]
    for p in parameters:
        p.grad = None
    ((losses * w).sum() / w.sum()).backward()
    average_gradients(parameters, workers)
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    for group in adam.param_groups:
        group["lr"] = LR_ADAM * lr
    adam.step()
    with torch.no_grad():
        muon.step(LR_MUON * lr)
    return logits, targets, target_kinds, losses.detach()


def train(rank, workers, out):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if workers > 1:
        dist.init_process_group("gloo")
    model = Model(Config(), SEED).train()
    parameters = list(model.parameters())
    muon, adam = make_optimisers(model)
    step = tokens_done = 0
    path = os.path.join(out, "checkpoint.pt")
    if os.path.exists(path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        adam.load_state_dict(state["adam"])
        muon.buffers, step, tokens_done = state["muon"], state["step"], state["tokens"]
    weights = torch.tensor([LOSS_WEIGHT.get(k, 0.0) for k in range(len(data.KIND_NAMES))])
    hidden = torch.compile(model.hidden, dynamic=False)
    progress = Progress(os.path.join(out, "train.log")) if rank == 0 else None
    number, last_save = None, time.time()
    while phase_of(step) is not None:
        if phase_of(step)[0] != number:
            number, phase = phase_of(step)
            if progress:
                save(path, model, muon, adam, step, tokens_done)
                progress.say(f"phase {number} from step {step}: {phase} (compiling ...)")
            weights[data.TOOL_ARG] = phase.arg_weight
        ids, kinds, positions = draw_batch(step, rank, phase)
        lr = rate(step, tokens_done)
        logits, targets, target_kinds, losses = learn(model, hidden, parameters, muon, adam, weights,
                                                      ids, kinds, positions, workers, lr)
        step += 1
        tokens_done += ids[:, 1:].numel() * workers
        if progress:
            right = logits.argmax(-1) == targets
            progress.add(ids[:, 1:].numel() * workers, target_kinds, right, losses)
            if step % 50 == 0:
                progress.line(step, lr)
            if time.time() - last_save > CHECKPOINT_S:
                save(path, model, muon, adam, step, tokens_done)
                last_save = time.time()
    if progress:
        save(path, model, muon, adam, step, tokens_done)
        progress.say(f"done: {step} steps, {tokens_done} tokens")


def launch(workers, command):
    """Starts the workers as processes of a script (its command line); returns the first bad exit status."""
    env = dict(os.environ, OMP_NUM_THREADS="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29517",
               WORLD_SIZE=str(workers))
    # torch allocates and frees large blocks every step; jemalloc, set to keep them, saves a tenth.
    jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    if os.path.exists(jemalloc):
        env.update(LD_PRELOAD=jemalloc, MALLOC_CONF="dirty_decay_ms:-1,muzzy_decay_ms:-1")
    command = [sys.executable, *command, "--workers", str(workers)]
    children = [subprocess.Popen(command, env=dict(env, RANK=str(r))) for r in range(workers)]
    return max(abs(child.wait()) for child in children)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="run")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    if "RANK" in os.environ:
        train(int(os.environ["RANK"]), args.workers, args.out)
    else:
        sys.exit(launch(args.workers, [__file__, "--out", args.out]))
