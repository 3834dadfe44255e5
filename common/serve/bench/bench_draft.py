#!/usr/bin/env python3
"""bench_draft.py [TURNS]: speculative decoding, measured, beside the simulator's model of it.

The embedded model at the pace of llama-2-7b on one A100, and two draft models whose step is paced at 0.05 of that: the model
itself, and the model with a part of its weights set to 0. One request after the other, 8 prompts of its grammar, 128 tokens
each, greedy. From the step log: tokens per pass and the probability a that a drafted token is accepted (accepted over
accepted and first rejected); from a, the model's tokens per pass (1 - a^(k+1)) / (1 - a) and `sim run`'s time per token.
Prints a row for each draft and number of drafted tokens; times: median [least .. most] of the turns."""
import json, os, statistics, subprocess, sys, tempfile, urllib.request

PROGRAM = os.environ.get("SERVELAB", "build/bin/servelab")
MODEL = "common/model/embedded/servelab-tiny.gguf"
OUTPUT, COST, SCALE = 128, "0.05", 4  # paced time is stretched: this machine computes the drafts, too
LOG = "07:32 warn disk read 120 ms\nkey K7Q2 4815\n11:05 info cache flush ok\n"
PROMPTS = [LOG + q for q in [f"add {a} and {100 - a}>" for a in range(10, 80, 20)] + [f"{a}+{a + 9}=" for a in range(10, 80, 20)]]


def ask(url, model, prompt):
    body = {"model": model, "prompt": prompt, "max_tokens": OUTPUT, "temperature": 0, "ignore_eos": True}
    request = urllib.request.Request(url + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as r:
        return json.load(r)


def steps_of(draft, k, folder):
    """The steps of a run, without its head."""
    log = os.path.join(folder, "steps")
    server = subprocess.Popen([PROGRAM, "serve", "--model", MODEL, "--pace", "llama-2-7b:a100", "--pace-scale", str(SCALE), "--prefix-cache", "off", "--port", "0",
                               "--step-log", log, "--json", *(["--draft-model", draft, "--draft-tokens", str(k), "--draft-cost", COST]
                                                              if draft else [])],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        ready = json.loads(server.stdout.readline())
        for p in PROMPTS:
            prompt_tokens = ask(ready["url"], ready["model"], p)["usage"]["prompt_tokens"]
    finally:
        server.terminate()
        server.wait()
    with open(log) as f:
        return [json.loads(line) for line in f][1:], prompt_tokens


def summary(steps):
    """(tokens per pass, probability of acceptance, ms a token) of the decode steps."""
    decode = [s for s in steps if s["decode_tokens"]]
    accepted = sum(s.get("accepted_draft_tokens", 0) for s in decode)
    rejected = sum(s["accepted_draft_tokens"] < s["draft_tokens"] for s in decode if "draft_tokens" in s)
    tokens = len(decode) + accepted
    a = accepted / (accepted + rejected) if accepted + rejected else 0
    return tokens / len(decode), a, sum(s["end_ns"] - s["start_ns"] for s in decode) / tokens / 1e6 / SCALE


def predicted_ms(k, a, prompt_tokens):
    more = ["--draft-tokens", str(k), "--acceptance", f"{a:.6f}", "--draft-cost", COST] if k else []
    r = json.loads(subprocess.run([PROGRAM, "sim", "run", "--model", "llama-2-7b", "--gpu", "a100", "--arrivals-ms", "1",
                                   "--prompt-tokens", str(prompt_tokens), "--output-tokens", str(OUTPUT), *more, "--json"],
                                  stdout=subprocess.PIPE, check=True).stdout)
    return r["window"]["tpot_p50"]["ns"] / 1e6


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        drafts = {"none": None, "itself": MODEL}
        with open(MODEL, "rb") as f:
            whole = f.read()
        for percent in (3, 12):
            drafts[f"{percent} % zero"] = os.path.join(folder, f"{percent}.gguf")
            n = len(whole) * percent // 100
            with open(drafts[f"{percent} % zero"], "wb") as f:
                f.write(whole[:-n] + bytes(n))
        print("| draft | k | accepted, a | tokens per pass | by the model | ratio | ms a token | by sim run | ratio |\n"
              "|---|---|---|---|---|---|---|---|---|")
        for name, draft in drafts.items():
            for k in (1, 2, 4, 8) if draft else (0,):
                runs = [steps_of(draft, k, folder) for _ in range(turns)]
                per_pass, a, _ = summary(runs[0][0])
                model = sum(a**i for i in range(k + 1))
                ms, want = [summary(s)[2] for s, _ in runs], predicted_ms(k, a, runs[0][1])
                middle = statistics.median(ms)
                print(f"| {name} | {k} | {a:.3f} | {per_pass:.3f} | {model:.3f} | {per_pass / model:.3f} | "
                      f"{middle:.2f} [{min(ms):.2f} .. {max(ms):.2f}] | {want:.2f} | {middle / want:.3f} |", flush=True)


main()
