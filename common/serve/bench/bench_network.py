#!/usr/bin/env python3
"""bench_network.py MODEL TURNS VARIANT...: how long a computed token waits for the network thread.

Starts `servelab serve --model MODEL` and four clients that stream 64 tokens each, one request after the other, in turns: each
turn runs every VARIANT once, so that the machine's other work meets all alike. Reads the server's records: first_token to the
first token_sent, and the share of gaps between two token_sent of a request that are below 20 us (the second had waited).

A VARIANT is NAME, or NAME=FLAGS with more flags of `servelab serve`, or NAME=@PROGRAM[,FLAGS] for another servelab.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))


def turn(model, program, flags):
    with tempfile.TemporaryDirectory() as tmp:
        port_file, log = os.path.join(tmp, "port"), os.path.join(tmp, "log")
        server = subprocess.Popen([program, "serve", "--model", model, "--port", "0", "--port-file", port_file, "--log", log,
                                   "--record-grace-ms", "0", "--json", *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        server.stdout.readline()
        with open(port_file) as f:
            url = "http://127.0.0.1:" + f.read().strip()
        subprocess.run([SERVELAB, "load", "--url", url, "--arrivals", "closed", "--clients", "4", "--think-s", "0", "--requests", "64",
                        "--prompt-tokens", "32", "--output-tokens", "64", "--no-join", "--out", os.path.join(tmp, "out")],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.terminate()
        server.wait()
        with open(log) as f:
            records = [json.loads(line) for line in f]
    waits, gaps, tokens, span = [], [], 0, []
    for r in records:
        at = {}
        for e in r["events"]:
            at.setdefault(e["event"], []).append(e["t_ns"])
        if "first_token" not in at or "token_sent" not in at:
            continue
        sent = at["token_sent"]
        waits.append((sent[0] - at["first_token"][0]) / 1e6)
        gaps += [b - a for a, b in zip(sent, sent[1:])]
        tokens += r["workload"]["output_tokens"]
        span += [at["request_accepted"][0], sent[-1]]
    waits.sort()
    return {"wait p50 ms": statistics.median(waits), "wait p90 ms": waits[int(0.9 * len(waits))],
            "gaps < 20 us %": 100 * sum(g < 20000 for g in gaps) / len(gaps), "tokens/s": tokens / (max(span) - min(span)) * 1e9}


def main():
    model, turns, variants = sys.argv[1], int(sys.argv[2]), [v.partition("=")[::2] for v in sys.argv[3:]]
    found = {name: [] for name, _ in variants}
    for _ in range(turns):
        for name, words in variants:
            words = words.split(",") if words else []
            program = words.pop(0)[1:] if words and words[0].startswith("@") else SERVELAB
            found[name].append(turn(model, program, words))
    for name, rows in found.items():
        cells = [f"{k} {statistics.median(r[k] for r in rows):.3f} [{min(r[k] for r in rows):.3f} .. {max(r[k] for r in rows):.3f}]"
                 for k in rows[0]]
        print(f"{name}: " + "; ".join(cells), flush=True)


main()
