#!/usr/bin/env python3
"""fit.py: calibrates the transformer cost model (../cost.h) for Llama-2-7B on A100 and H100.

    python3 common/sim/calibration/fit.py DATA/profiles           prints what it finds
    python3 common/sim/calibration/fit.py DATA/profiles --write   and writes ../calibration.h and README.md's tables

DATA/profiles holds vidur_a100_llama2-7b_mlp.csv and vidur_h100_llama2-7b_mlp.csv (microsoft/vidur 7d47513, MIT):
measured times of a layer's operations against the number of tokens. Half of the points are fitted, the error is
reported on the other half. Not here: attention and the output matrix, which these profiles don't hold.
"""
import csv
import os
import re
import sys

LAYERS, WIDTH, FFN = 32, 4096, 11008
PARAMETERS = LAYERS * (4 * WIDTH * WIDTH + 3 * WIDTH * FFN)  # of the layers: what a pass reads and works with
TILE_TOKENS, TILE_FROM = 128, 64
REGIMES = (("up to 64 tokens", 1, 64), ("65 to 512", 65, 512), ("more than 512", 513, 10**9))
MATRICES = {"attn_pre_proj", "attn_post_proj", "mlp_up_proj", "mlp_down_proj"}
# The search goes in these steps, so that the result is a round number and the same on every machine.
BANDWIDTH_STEP, FLOPS_STEP, LOSS_STEP, OVERHEAD_STEP_NS = 10e9, 1e12, 32, 10000


def read_points(path):
    """[(tokens, ms of one pass, ms of its operations that read no weights)], by tokens; equal ones are averaged."""
    found = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["num_tensor_parallel_workers"] != "1":
                continue
            ms = {key.split(".")[1]: float(row[key]) for key in row if key.endswith(".median")}
            embedding = ms.pop("emb")
            whole = LAYERS * sum(ms.values()) + embedding
            small = LAYERS * sum(ms[op] for op in ms if op not in MATRICES) + embedding
            found.setdefault(int(row["num_tokens"]), []).append((whole, small))
    mean = lambda pairs, i: sum(p[i] for p in pairs) / len(pairs)
    return [(tokens, mean(pairs, 0), mean(pairs, 1)) for tokens, pairs in sorted(found.items())]


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def predict_ms(tokens, fit, tiles=True):
    """cost.h's matrices and overhead. fit: bandwidth, operations/s, overlap loss in 1/1024, overhead in ns."""
    bandwidth, flops, loss_1024, overhead_ns = fit
    padded = tokens if tokens <= TILE_FROM or not tiles else -(-tokens // TILE_TOKENS) * TILE_TOKENS
    memory, compute = 2 * PARAMETERS / bandwidth * 1e3, 2 * PARAMETERS * padded / flops * 1e3
    longer, shorter = max(memory, compute), min(memory, compute)
    return longer + loss_1024 / 1024 * shorter * shorter / longer + overhead_ns / 1e6


def errors(points, fit, tiles=True):
    return [abs(predict_ms(tokens, fit, tiles) / ms - 1) for tokens, ms, _ in points]


def badness(points, fit, tiles=True):
    """Mean relative error, each regime counting the same: there are few points with few tokens."""
    total = 0.0
    for _, lo, hi in REGIMES:
        part = [p for p in points if lo <= p[0] <= hi]
        total += sum(errors(part, fit, tiles)) / len(part)
    return total


def descend(points, start, tiles=True):
    """Bandwidth and operations/s with the least badness, in whole steps; loss and overhead are kept."""
    best, fit = badness(points, start, tiles), start
    for stride in (16, 4, 1):
        improved = True
        while improved:
            improved = False
            for b, f in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
                trial = (fit[0] + b * stride * BANDWIDTH_STEP, fit[1] + f * stride * FLOPS_STEP) + fit[2:]
                if min(trial[:2]) > 0 and badness(points, trial, tiles) < best - 1e-12:
                    best, fit, improved = badness(points, trial, tiles), trial, True
    return best, fit


def overhead_ns(points):
    """What operations without weights take at few tokens: they move next to nothing there, so it is their start."""
    found = median([small for tokens, _, small in points if tokens <= TILE_FROM])
    return round(found * 1e6 / OVERHEAD_STEP_NS) * OVERHEAD_STEP_NS


def fit_all(halves, losses, tiles=True):
    """{gpu: fit}: the loss is common to all GPUs, the rest is per GPU."""
    best = None
    for loss in losses:
        total, fits = 0.0, {}
        for gpu, (fitted, _) in halves.items():
            start = {"a100": (1500e9, 200e12), "h100": (2500e9, 600e12)}[gpu]
            bad, fits[gpu] = descend(fitted, start + (loss, overhead_ns(fitted)), tiles)
            total += bad
        if best is None or total < best[0] - 1e-12:
            best = (total, fits)
    return best[1]


def summary(values):
    values = sorted(values)
    return median(values), values[-(-len(values) * 9 // 10) - 1], values[-1]


def table(halves):
    lines = ["| GPU, form | " + " | ".join(name for name, _, _ in REGIMES) + " | all |", "|---|---|---|---|---|"]
    losses = range(0, 513, LOSS_STEP)
    forms = (("plain roofline", (0,), False), ("with tiles", (0,), True), ("with overlap", losses, False),
             ("**with both**", losses, True))
    for name, allowed, tiles in forms:
        fits = fit_all(halves, allowed, tiles)
        for gpu, (_, checked) in halves.items():
            cells = []
            for _, lo, hi in REGIMES + (("all", 1, 10**9),):
                part = [p for p in checked if lo <= p[0] <= hi]
                cells.append("%.1f / %.1f / %.1f" % tuple(100 * x for x in summary(errors(part, fits[gpu], tiles))))
            lines.append("| %s, %s | %s |" % (gpu.upper(), name, " | ".join(cells)))
    return "\n".join(lines) + "\n"


def samples(halves, fits):
    lines = ["| GPU | tokens | measured ms | model ms | error |", "|---|---|---|---|---|"]
    for gpu, (fitted, checked) in halves.items():
        for tokens, ms, _ in sorted(fitted + checked):
            if tokens in (1, 64, 128, 256, 512, 1024, 2048, 4096):
                model = predict_ms(tokens, fits[gpu])
                lines.append("| %s | %d | %.1f | %.1f | %+.1f %% |"
                             % (gpu.upper(), tokens, ms, model, 100 * (model / ms - 1)))
    return "\n".join(lines) + "\n"


def header(fits):
    text = """/* calibration.h: the constants that calibration/fit.py fitted for Llama-2-7B; calibration/README.md
 * has the method and the errors on points that weren't fitted. Generated: don't edit, run fit.py.
 */
#ifndef SERVELAB_SIM_CALIBRATION_H
#define SERVELAB_SIM_CALIBRATION_H

#include <stdint.h>

"""
    text += define_block([("CALIBRATED_OVERLAP_LOSS_1024", next(iter(fits.values()))[2], ""),
                          ("CALIBRATED_TILE_TOKENS", TILE_TOKENS, ""),
                          ("CALIBRATED_TILE_FROM", TILE_FROM, ""),
                          ("CALIBRATED_LAYERS", LAYERS, "the overheads are of so many")])
    for gpu, (bandwidth, flops, _, overhead) in fits.items():
        name = gpu.upper()
        text += "\n" + define_block([(name + "_BANDWIDTH", "INT64_C(%d)" % bandwidth, "bytes/s"),
                                     (name + "_FLOPS", "INT64_C(%d)" % flops, "operations/s"),
                                     (name + "_OVERHEAD_NS", overhead, "")])
    return text + "\n#endif\n"


def define_block(rows):
    """Lines of #define, aligned as clang-format does it."""
    wide = max(len(name) for name, _, _ in rows)
    lines = ["#define %-*s %s" % (wide, name, value) for name, value, _ in rows]
    wide = max((len(line) for line, row in zip(lines, rows) if row[2]), default=0)
    return "".join(line.ljust(wide) + " /* %s */\n" % row[2] if row[2] else line + "\n"
                   for line, row in zip(lines, rows))


def with_block(readme, name, text):
    """The README with the text between its two marks of that name replaced."""
    pattern = r"(<!-- %s -->\n)(.*?)(<!-- end -->)" % name
    if len(re.findall(pattern, readme, re.S)) != 1:
        raise SystemExit("README.md has no block '<!-- %s -->' ... '<!-- end -->'" % name)
    return re.sub(pattern, lambda m: m.group(1) + text + m.group(3), readme, flags=re.S)


def calibrate(folder):
    """{path: text} of the generated files, from the profiles in `folder`."""
    halves = {}
    for gpu in ("a100", "h100"):
        points = read_points(os.path.join(folder, "vidur_%s_llama2-7b_mlp.csv" % gpu))
        halves[gpu] = points[0::2], points[1::2]
    fits = fit_all(halves, range(0, 513, LOSS_STEP))
    here = os.path.dirname(os.path.abspath(__file__))
    readme = os.path.join(here, "README.md")
    with open(readme) as file:
        text = with_block(file.read(), "errors", table(halves))
    text = with_block(text, "samples", samples(halves, fits))
    return {os.path.join(here, "..", "calibration.h"): header(fits), readme: text}


def main(arguments):
    if not arguments or arguments[0].startswith("-") or arguments[1:] not in ([], ["--write"]):
        raise SystemExit(__doc__)
    try:
        files = calibrate(arguments[0])
    except OSError as e:
        raise SystemExit("fit.py: %s: %s; give the folder that holds vidur_a100_llama2-7b_mlp.csv and the H100's"
                         % (e.filename, e.strerror))
    except (KeyError, ValueError) as e:
        raise SystemExit("fit.py: that isn't a profile as Vidur writes it: %s" % e)
    for path, text in files.items():
        if arguments[1:]:
            with open(path, "w") as file:
                file.write(text)
        else:
            print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
