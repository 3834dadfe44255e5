#!/usr/bin/env python3
"""draw_scaling.py [FOLDER]: draws scaling.svg of lab 04's handout: p99 TTFT against the offered load of one A100, of one
faster card (vertical), and of two A100s behind a router (horizontal). Every figure is the simulator's. Without FOLDER it
is written into solutions/04_serving. Also prints the table of the handout. test_lab04_docs.py compares both."""

import json
import math
import os
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
RATES = [2, 4, 8, 12, 16, 20, 24, 28, 32, 40]
MACHINES = [("one A100", "a100", ["--gpu", "a100"]), ("one H100", "h100", ["--gpu", "h100"]),
            ("two A100s", "two", ["--gpu", "a100", "--servers", "2", "--router", "least-outstanding"])]
COMMAND = ["sim", "sweep", "--arrivals", "poisson", "--requests", "3000", "--seed", "1", "--model", "llama-2-7b",
           "--rates", ",".join(map(str, RATES)), "--ttft-below-ms", "200", "--tpot-below-ms", "50", "--json"]
LEFT, RIGHT, TOP_Y, BOTTOM, X_MOST, Y_LEAST, Y_MOST = 70, 610, 24, 300, 42, 0.01, 200  # seconds


def curve(flags):
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([SERVELAB, *COMMAND, *flags, "--out", out], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["policies"][0]["points"]


def at(rps, seconds):
    y = math.log(seconds / Y_LEAST) / math.log(Y_MOST / Y_LEAST)
    return f"{LEFT + rps / X_MOST * (RIGHT - LEFT):.1f},{BOTTOM - y * (BOTTOM - TOP_Y):.1f}"


def draw(curves):
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 350" role="img" aria-label="p99 TTFT of one A100, one H100 '
             'and two A100s, simulated">',
             "<style>text{font:13px sans-serif;fill:#222}polyline{fill:none;stroke-width:2}.axis{stroke:#999}"
             ".a100{stroke:#666}.h100{stroke:#0b62c4}.two{stroke:#b4480f;stroke-dasharray:6 4}"
             "@media(prefers-color-scheme:dark){text{fill:#ddd}.a100{stroke:#aaa}}</style>"]
    for seconds, name in ((0.01, "10 ms"), (0.1, "100 ms"), (1, "1 s"), (10, "10 s"), (100, "100 s")):
        x, y = at(0, seconds).split(",")
        lines += [f'<line class="axis" x1="{x}" x2="{RIGHT}" y1="{y}" y2="{y}"/>',
                  f'<text x="{LEFT - 8}" y="{float(y) + 4:.1f}" text-anchor="end">{name}</text>']
    for rps in range(0, X_MOST, 8):
        x = at(rps, Y_LEAST).split(",")[0]
        lines.append(f'<text x="{x}" y="{BOTTOM + 20}" text-anchor="middle">{rps}</text>')
    lines.append(f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 42}" text-anchor="middle">offered load, requests/s (p99 TTFT, '
                 'simulated)</text>')
    for name, style, points in curves:
        dots = [at(p["rate_rps"], p["ttft_p99"]["ns"] / 1e9) for p in points]
        x, y = dots[-1].split(",")
        lines += [f'<polyline class="{style}" points="{" ".join(dots)}"/>',
                  f'<text x="{float(x) + 6:.1f}" y="{float(y) + 4:.1f}">{name}</text>']
    return "\n".join(lines + ["</svg>", ""])


def table(curves):
    rows = ["| offered/s | " + " | ".join(name for name, _, _ in curves) + " |", "|---:|" + "---:|" * len(curves)]
    for i, rps in enumerate(RATES):
        cells = [f"{c[i]['ttft_p99']['ns'] / 1e6:,.0f} ms{'' if c[i]['stable'] else ', growing'}" for _, _, c in curves]
        rows.append(f"| {rps} | " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "solutions/04_serving")
    curves = [(name, style, curve(flags)) for name, style, flags in MACHINES]
    with open(os.path.join(folder, "scaling.svg"), "w", encoding="utf-8") as f:
        f.write(draw(curves))
    print(table(curves), end="")


if __name__ == "__main__":
    main()
