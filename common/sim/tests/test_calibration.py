#!/usr/bin/env python3
"""test_calibration.py: fitting again arrives at the committed constants and errors, to the byte.

Needs the profiles (SERVELAB_DATA, or ../shared/data beside the project); skips by name where they are absent.
"""
import os
import sys

top = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
sys.path.insert(0, os.path.join(top, "common", "sim", "calibration"))
sys.dont_write_bytecode = True
import fit  # noqa: E402

count, failed = 0, 0


def ok(good, name, detail=""):
    global count, failed
    count += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", count, name + (": " + detail if detail and not good else "")))


def made_up(bandwidth, flops, loss_1024, overhead_ns):
    """Points that the formula itself gives."""
    true = (bandwidth, flops, loss_1024, overhead_ns)
    tokens = [1, 2, 4, 8, 16, 32, 48, 64] + list(range(72, 4097, 40))
    return [(t, fit.predict_ms(t, true), overhead_ns / 1e6) for t in tokens]


# The fit finds what is there: points made with known constants give these constants back.
truth = {"a100": (1720e9, 180e12, 256, 500000), "h100": (2900e9, 700e12, 256, 400000)}
halves = {gpu: (made_up(*t)[0::2], made_up(*t)[1::2]) for gpu, t in truth.items()}
found = fit.fit_all(halves, range(0, 513, fit.LOSS_STEP))
ok(found == truth, "made-up points give their constants back", str(found))
ok(fit.summary([0.1] * 9 + [0.5]) == (0.1, 0.1, 0.5), "median, 90th percentile and largest error")

folder = os.path.join(os.environ.get("SERVELAB_DATA") or os.path.join(top, "..", "shared", "data"), "profiles")
if not os.path.isdir(folder):
    count += 1
    print("ok %d - refit of the measured profiles # SKIP they are not there" % count)
else:
    for path, text in fit.calibrate(folder).items():
        with open(path) as file:
            ok(file.read() == text, "refit arrives at the committed " + os.path.basename(path),
               "run common/sim/calibration/fit.py %s --write and look at the difference" % folder)
    for gpu, rounded in (("a100", {1: 9.3, 64: 9.7, 256: 17.8, 512: 33.4, 1024: 68, 2048: 133.5, 4096: 260}),
                         ("h100", {1: 5.6, 64: 5.9, 256: 9.2, 512: 12.0, 1024: 21.0, 2048: 40.5, 4096: 83})):
        points = {t: ms for t, ms, _ in fit.read_points(os.path.join(folder, "vidur_%s_llama2-7b_mlp.csv" % gpu))}
        worst = max(abs(points[t] / ms - 1) for t, ms in rounded.items())
        ok(worst < 0.008, "sums of the %s profile are as counted elsewhere" % gpu, "%.3f" % worst)
print("1..%d" % count)
sys.exit(failed > 0)
