"""train_count.py: teaches a trained model the fourth kind of question, counting, repeatably.

    python train_count.py base.gguf [--out DIR] [--workers 2]

It starts from the exported model of train.py, which knows the other three kinds, and writes
DIR/checkpoint.pt. As in train.py, phases are counted in steps and every batch is drawn from a
generator seeded by (seed, step, worker). Most questions stay of the other three kinds, so that
they are not forgotten. An interrupted run starts again: it takes minutes.

Not here: the optimiser and the progress lines (train.py), the tasks (data.py).
"""

import argparse
import os
import random
import sys
import time
from collections import namedtuple

import torch
import torch.distributed as dist
import torch.nn.functional as F

import data
import train as base
from evaluate import load_gguf

SEED = "count"
WARMUP_STEPS = 40
SPAN = 2304  # positions the model must know: 2,048 of prompt and 256 of answer

# rates: shares of train.py's learning rates at the phase's start and end. numbers: how many numbers
# a counted answer has. The other fields are as in train.py; mix has a fourth weight, of counts.
Phase = namedtuple("Phase", "steps tokens batch keys log_share mix jumps hard numbers rates")
PHASES = [
    Phase(380, 128, 16, (2, 5), (0.2, 0.5), (0.25, 0.15, 0.3, 0.3), 0.5, 0.3, (2, 14), (0.4, 0.4)),
    Phase(560, 512, 4, (8, 18), (0.3, 0.55), (0.27, 0.18, 0.35, 0.2), 0.7, 0.3, (10, 50), (0.4, 0.15)),
    Phase(170, 2304, 1, (8, 18), (0.6, 0.88), (0.25, 0.2, 0.37, 0.18), 0.0, 0.3, (30, 50), (0.15, 0.01)),
]

# Most digits of a counted number repeat the number before it; a carry and the end are rare.
base.LOSS_WEIGHT.update({data.TOOL_ARG: 1.5, data.COUNT_SAME: 0.25, data.COUNT_TENS: 0.4,
                         data.COUNT_CARRY: 2.0, data.COUNT_UNITS: 0.6, data.COUNT_END: 2.0})


def draw_batch(step, rank, phase):
    r = random.Random(f"{SEED}/{step}/{rank}")
    rows = [data.training_sequence(r, phase.tokens, phase.keys, phase.log_share, phase.mix,
                                   r.random() < phase.jumps, SPAN, r.random() < phase.hard,
                                   phase.numbers) for _ in range(phase.batch)]
    return (torch.tensor(column) for column in zip(*rows))


def train(rank, workers, start, out):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if workers > 1:
        dist.init_process_group("gloo")
    model = load_gguf(start).train()
    parameters = list(model.parameters())
    muon, adam = base.make_optimisers(model)
    weights = torch.tensor([base.LOSS_WEIGHT.get(k, 0.0) for k in range(len(data.KIND_NAMES))])
    hidden = torch.compile(model.hidden, dynamic=False)
    progress = base.Progress(os.path.join(out, "train.log")) if rank == 0 else None
    step = tokens_done = 0
    for number, phase in enumerate(PHASES):
        if progress:
            progress.say(f"phase {number} from step {step}: {phase} (compiling ...)")
        for i in range(phase.steps):
            ids, kinds, positions = draw_batch(step, rank, phase)
            rate = phase.rates[0] + (phase.rates[1] - phase.rates[0]) * i / phase.steps
            rate *= min(1, (step + 1) / WARMUP_STEPS)
            logits, targets, target_kinds, losses = base.learn(
                model, hidden, parameters, muon, adam, weights, ids, kinds, positions, workers, rate)
            step += 1
            tokens_done += ids[:, 1:].numel() * workers
            if progress:
                progress.add(ids[:, 1:].numel() * workers, target_kinds,
                             logits.argmax(-1) == targets, losses)
                if step % (50 if phase.tokens < 1000 else 10) == 0:
                    progress.line(step, rate)
        if progress:
            base.save(os.path.join(out, "checkpoint.pt"), model, muon, adam, step, tokens_done)
    if progress:
        progress.say(f"done: {step} steps, {tokens_done} tokens, {time.process_time() / 60:.1f} minutes of one worker")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("start", help="the model to start from, as GGUF in float32")
    parser.add_argument("--out", default="run-count")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    if "RANK" in os.environ:
        train(int(os.environ["RANK"]), args.workers, args.start, args.out)
    else:
        sys.exit(base.launch(args.workers, [__file__, args.start, "--out", args.out]))
