#!/usr/bin/env python3
"""draw_schedules.py [FOLDER]: draws lab 02's figure: four requests and the worker's time under two policies.

Runs the simulator (build/bin/servelab, or $SERVELAB) on the handout's case and draws its results, so that the two
agree. Writes schedules.svg, and schedules.svg.starter without the second policy, into FOLDER (solutions/02_queue_sim).
"""

import json
import os
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
SETUP_MS, PER_REQUEST_MS, LAST_MS = 4, 1, 20
POLICIES = ["single", "wait-for-n:4"]

LEFT, RIGHT, MS, ROW, HEAD = 96, 24, 32, 24, 30  # pixels: margins, a millisecond, a row, a title
DARK, LIGHT, INK, QUIET = "#2f5d8a", "#9cc3e6", "#1b1b1b", "#8a8a8a"


def run(policy):
    program = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
    out = subprocess.run([program, "sim", "run", "--arrivals-ms", "0,1,2,3", "--policy", policy, "--setup-ms",
                          str(SETUP_MS), "--per-request-ms", str(PER_REQUEST_MS), "--json", "--per-request"],
                         capture_output=True, text=True, check=True)
    return [{k: r[k] / 1e6 for k in ("arrival_ns", "start_ns", "completion_ns")} for r in json.loads(out.stdout)["requests"]]


def x(ms):
    return f"{LEFT + ms * MS:g}"


def text(left, top, what, anchor="start", colour=INK, size=13, weight="normal"):
    return (f'<text x="{left}" y="{top}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" '
            f'font-weight="{weight}">{what}</text>')


def bar(start, end, top, colour):
    return f'<rect x="{x(start)}" y="{top}" width="{(end - start) * MS:g}" height="14" fill="{colour}"/>'


def panel(title, requests, top):
    """One policy: a row a request, with its wait as a line and its iteration as a bar. requests None: empty rows."""
    parts = [text(LEFT, top + 18, title, weight="bold")]
    bottom = top + HEAD + ROW * 4
    for ms in range(LAST_MS + 1):
        parts.append(f'<line x1="{x(ms)}" y1="{top + HEAD}" x2="{x(ms)}" y2="{bottom}" stroke="{QUIET}" '
                     f'stroke-width="{0.8 if ms % 5 == 0 else 0.3}"/>')
        if ms % 5 == 0:
            parts.append(text(x(ms), bottom + 16, f"{ms} ms", "middle", QUIET, 12))
    for i in range(4):
        y = top + HEAD + ROW * i
        parts.append(text(LEFT - 10, y + 17, f"request {i}", "end"))
        if not requests:
            continue
        r = requests[i]
        parts.append(f'<line x1="{x(r["arrival_ns"])}" y1="{y + 12}" x2="{x(r["start_ns"])}" y2="{y + 12}" '
                     f'stroke="{INK}" stroke-width="1.5" stroke-dasharray="3 3"/>')
        parts.append(f'<circle cx="{x(r["arrival_ns"])}" cy="{y + 12}" r="3.5" fill="{INK}"/>')
        parts.append(bar(r["start_ns"], r["start_ns"] + SETUP_MS, y + 5, DARK))
        parts.append(bar(r["start_ns"] + SETUP_MS, r["completion_ns"], y + 5, LIGHT))
    return parts, bottom + 26


def figure(shown):
    parts, top = [], 8
    for policy in POLICIES:
        requests = run(policy) if policy in shown else None
        title = policy if requests else f"{policy}: draw it"
        more, top = panel(title, requests, top)
        parts += more
    parts += [bar(0, 1, top + 2, DARK), text(int(LEFT + 1.3 * MS), top + 14, f"{SETUP_MS} ms set-up, once an iteration"),
              bar(8, 9, top + 2, LIGHT), text(int(LEFT + 9.3 * MS), top + 14, f"{PER_REQUEST_MS} ms for each request in it"),
              text(int(LEFT + 15 * MS), top + 14, "\u25cf\u2009- - -  waits")]
    width, height = LEFT + LAST_MS * MS + RIGHT, top + 30
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="sans-serif" role="img">\n<title>Four requests under two policies</title>\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "solutions/02_queue_sim")
    for name, shown in (("schedules.svg", POLICIES), ("schedules.svg.starter", POLICIES[:1])):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(figure(shown))


if __name__ == "__main__":
    main()
