#!/usr/bin/env python3
"""draw_kernels.py [--only coalescing] [FOLDER]: draws lab 03's two figures from counts.

Builds versions of kernels through simtcc --check (as common/backend/tests/test_kernels.py does), reads their reports, and
writes coalescing.svg and roofline.svg into FOLDER (solutions/03_kernels). The figure of coalescing is drawn from
addresses; if its sectors a request differ from the count, nothing is written and the exit status is 1.
"""

import json
import math
import os
import pathlib
import shutil
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "common/backend/tests"))
sys.path.insert(0, str(TOP / "common/course"))
import lab03_tables  # noqa: E402
import test_kernels  # noqa: E402

DARK, LIGHT, INK, QUIET, PAPER = "#2f5d8a", "#9cc3e6", "#1b1b1b", "#8a8a8a", "#ffffff"
SHADES = ["#8a2f5d", "#2f5d8a", "#5d8a2f", "#8a5d2f", "#5d2f8a"]


def counted(kernels):
    """{kernel: [report of version 1, 2, ...]}: the one kernel's entry of each report."""
    os.environ["KERNELS"] = " ".join(kernels)
    work = pathlib.Path(tempfile.mkdtemp(prefix="draw-kernels-"))
    try:
        objects = test_kernels.host_objects(work)
        jobs = list(test_kernels.versions(work, "g++"))
        first = jobs[0].check(objects, jobs[0].program)
        out = {}
        for v in [first, *(j.check(objects, first.program) for j in jobs[1:])]:
            if v.problem:
                sys.exit(f"draw_kernels.py: {v.name}: {v.problem}")
            report = json.loads(v.program.with_name(v.program.name + ".json").read_text())
            out.setdefault(v.kernel, []).append(next(k for k in report["kernels"] if k["name"] == v.kernel))
        return out
    finally:
        shutil.rmtree(work, ignore_errors=True)


def text(x, y, what, anchor="start", colour=INK, size=13, weight="normal"):
    what = what.replace("&", "&amp;").replace("<", "&lt;")
    return (f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" '
            f'font-weight="{weight}">{what}</text>')


def svg(width, height, title, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
                      f'aria-label="{title}" font-family="sans-serif">',
                      f'<rect width="{width}" height="{height}" fill="{PAPER}"/>', *parts, "</svg>"]) + "\n"


# ---- coalescing ---------------------------------------------------------------------------------------------------------
LANES, SECTORS, SECTOR_BYTES, WIDE = 32, 64, 32, 20  # sectors in the strip; pixels a lane
# bytes between the first addresses of neighbouring lanes, bytes a lane reads
COPY = [(64, 4, "version 1: each lane walks through 16 floats of its own"),
        (4, 4, "version 2: neighbours read neighbouring floats"),
        (16, 16, "version 3: four floats a lane")]


def coalescing(reports):
    left, row_height, parts = 20, 138, []
    sector_wide = LANES * WIDE / SECTORS
    for row, ((stride, each, what), report) in enumerate(zip(COPY, reports)):
        top = 20 + row * row_height
        touched = sorted({(lane * stride + b) // SECTOR_BYTES for lane in range(LANES) for b in range(each)})
        per_request = report["global_load_sectors"] / report["global_load_requests"]
        if per_request != len(touched):
            sys.exit(f"draw_kernels.py: copy {what}: counted {per_request} sectors a request, drawn {len(touched)}")
        used = LANES * each
        parts.append(text(left, top, what, weight="bold"))
        for lane in range(LANES):
            x = left + lane * WIDE
            parts.append(f'<rect x="{x}" y="{top + 10}" width="{WIDE - 2}" height="16" fill="{LIGHT}"/>')
            parts.append(text(x + WIDE / 2 - 1, top + 22, str(lane), "middle", INK, 9))
            middle = left + (lane * stride + each / 2) / SECTOR_BYTES * sector_wide
            parts.append(f'<line x1="{x + WIDE / 2 - 1:g}" y1="{top + 26}" x2="{middle:g}" y2="{top + 78}" stroke="{QUIET}" '
                         f'stroke-width="0.8"/>')
        for s in range(SECTORS):
            fill = DARK if s in touched else PAPER
            parts.append(f'<rect x="{left + s * sector_wide:g}" y="{top + 78}" width="{sector_wide:g}" height="16" '
                         f'fill="{fill}" stroke="{QUIET}" stroke-width="0.6"/>')
        parts.append(text(left, top + 110, "memory, in sectors of 32 bytes", "start", QUIET, 11))
        parts.append(text(left + LANES * WIDE, top + 110, f"counted: {len(touched)} sectors a request, {used} of "
                          f"{len(touched) * SECTOR_BYTES} bytes used", "end", DARK))
    return svg(2 * left + LANES * WIDE, 3 * row_height + 6, "Sectors that one load of a warp touches, three versions of copy",
               parts)


# ---- the roofline -------------------------------------------------------------------------------------------------------
ROOFLINE = ["rmsnorm", "softmax", "gemv", "attention_prefill", "gemm"]
X0, Y0, WIDTH, HEIGHT = 76, 24, 620, 380
LOW_I, HIGH_I, LOW_P, HIGH_P = -2.0, 3.0, 9.5, 13.6  # powers of ten


def place(intensity, rate):
    return (X0 + (math.log10(intensity) - LOW_I) / (HIGH_I - LOW_I) * WIDTH,
            Y0 + HEIGHT - (math.log10(rate) - LOW_P) / (HIGH_P - LOW_P) * HEIGHT)


def roofline(reports):
    card = lab03_tables.CARD
    limit = lambda i: min(i * card["bytes_per_s"], card["operations_per_s"])  # noqa: E731
    ridge = card["operations_per_s"] / card["bytes_per_s"]
    points = [place(i, limit(i)) for i in (10 ** LOW_I, ridge, 10 ** HIGH_I)]
    parts = [f'<rect x="{X0}" y="{Y0}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="{QUIET}"/>',
             f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" stroke="{INK}" stroke-width="2"/>',
             text(points[1][0] + 10, points[1][1] - 8, f"ridge: {ridge:.1f} operations a byte", size=12),
             text(X0 + WIDTH / 2, Y0 + HEIGHT + 40, "operations a byte, counted", "middle"),
             f'<g transform="rotate(-90 20 {Y0 + HEIGHT / 2})">' +
             text(20, Y0 + HEIGHT / 2, f"operations/s that {card['name']} allows", "middle") + "</g>"]
    for p in range(int(LOW_I), int(HIGH_I) + 1):
        x, _ = place(10.0 ** p, 10 ** LOW_P)
        parts.append(text(x, Y0 + HEIGHT + 18, f"{10.0 ** p:g}", "middle", QUIET, 11))
    for p in range(math.ceil(LOW_P), int(HIGH_P) + 1):
        _, y = place(1, 10.0 ** p)
        parts.append(text(X0 - 6, y + 4, f"1e{p}", "end", QUIET, 11))
    for row, kernel in enumerate(ROOFLINE):
        one = lab03_tables.kernels(kernel, test_kernels.SHAPES[kernel][0])
        colour, below = SHADES[row], Y0 + HEIGHT - 14 - 17 * (len(ROOFLINE) - row)
        parts.append(f'<circle cx="{X0 + WIDTH - 190}" cy="{below}" r="5" fill="{colour}"/>')
        parts.append(text(X0 + WIDTH - 178, below + 4, f"{kernel}, {len(reports[kernel])} versions", size=12))
        labels = []  # [x, y, "2, 3"]: versions that lie on one another share a label
        for version, report in enumerate(reports[kernel], 1):
            moved = 32 * (report["global_load_sectors"] + report["global_store_sectors"] + report["global_atomic_sectors"])
            i = one["operations"] / moved
            x, y = place(i, limit(i))
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
            if labels and abs(labels[-1][0] - x) < 9:
                labels[-1][2] += f", {version}"
            else:
                labels.append([x, y, str(version)])
        for x, y, what in labels:
            drop = 18 + 17 * row
            parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{y + drop:.1f}" stroke="{colour}" stroke-width="0.7"/>')
            parts.append(text(x, y + drop + 11, what, "middle", colour, 11))
        i = one["operations"] / one["bytes"]
        x, y = place(i, limit(i))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    return svg(X0 + WIDTH + 24, Y0 + HEIGHT + 56, "Counted intensity, version by version, under a roofline", parts)


def main():
    args = sys.argv[1:]
    only = args[:2] == ["--only", "coalescing"]
    args = args[2:] if only else args
    folder = pathlib.Path(args[0] if args else TOP / "solutions/03_kernels")
    (folder / "coalescing.svg").write_text(coalescing(counted(["copy"])["copy"]))
    if not only:
        (folder / "roofline.svg").write_text(roofline(counted(ROOFLINE)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
