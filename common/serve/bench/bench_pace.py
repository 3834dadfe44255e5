#!/usr/bin/env python3
"""bench_pace.py [TURNS]: a paced server under load against the simulator's prediction of the same requests.

Each turn takes another seed, and at each rate loads the real server (`serve --backend none --pace llama-2-7b:h100`, in real
time) and then simulates the same arrivals. Prints measured over predicted: median [least .. most] of the turns."""
import json, os, statistics, subprocess, sys, tempfile

PROGRAM = os.environ.get("SERVELAB", "build/bin/servelab")
RATES, SECONDS = (2, 7), 20  # requests/s below and above what this machine can take (about 5)
CASE = ["--prompt-tokens", "2048", "--output-tokens", "256", "--arrivals", "poisson"]
ROWS = [(f"{name} {p}", name, p) for name in ("ttft", "tpot", "e2e") for p in ("p50", "p99")]


def call(*words):
    return json.loads(subprocess.run([PROGRAM, *words, "--json"], stdout=subprocess.PIPE, check=True,
                                     stderr=subprocess.DEVNULL).stdout)


def turn(url, rate, seed):
    load = [*CASE, "--rate-rps", str(rate), "--requests", str(rate * SECONDS), "--seed", str(seed)]
    measured = call("load", "--url", url, *load)
    if not measured["run"]["valid"]:
        print(f"rate {rate}, seed {seed}: {measured['run']['invalid_reasons']}", file=sys.stderr)
    said = measured["summary"]["latency"]
    predicted = call("sim", "run", "--model", "llama-2-7b", "--gpu", "h100", "--policy", "learner", *load)["window"]
    return {label: (said[name][p]["ns"], predicted[f"{name}_{p}"]["ns"]) for label, name, p in ROWS}


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        port_file = os.path.join(folder, "port")
        server = subprocess.Popen([PROGRAM, "serve", "--backend", "none", "--pace", "llama-2-7b:h100", "--context", "2304",
                                   "--prefix-cache", "off", "--max-waiting", "10000", "--port", "0", "--port-file",
                                   port_file, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = json.loads(server.stdout.readline())["url"]
            for rate in RATES:
                all_turns = [turn(url, rate, seed) for seed in range(1, turns + 1)]
                print(f"{rate} requests/s, {rate * SECONDS} requests a turn, {turns} turns")
                for label, _, _ in ROWS:
                    ratios = sorted(t[label][0] / t[label][1] for t in all_turns)
                    one = all_turns[0][label]
                    print(f"  {label:9} {statistics.median(ratios):.3f} [{ratios[0]:.3f} .. {ratios[-1]:.3f}]"
                          f"   seed 1: {one[0] / 1e6:.1f} ms against {one[1] / 1e6:.1f}")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
