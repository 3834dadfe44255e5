#!/usr/bin/env python3
"""compare_vllm.py TURNS: the same workload measured by `servelab load` and by `vllm bench serve`, in turns.

One paced server (llama-2-7b on h100, simulated), four clients, 100 requests a turn, prompts of 2,048 different tokens, answers
of 64. vllm gets prompts of one-token words; `load` gets as many ids as the server counted. Needs `make check-clients` first.

Aligned: TTFT is from the send to the first chunk with text, in both (a closed client of `load` sends when it is due). TPOT:
vllm divides by tokens - 1 the time from the first chunk to the last chunk with choices, which is the text-less one with the
finish reason; `load` ends at the last byte. The server sends these together.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
TOKENIZER = os.path.join(TOP, "common/model/embedded/tokenizer")
VENV = os.path.join(TOP, "build")
N, WORDS, OUTPUT = 100, 2040, 64


def start(tmp):
    port_file = os.path.join(tmp, "port")
    server = subprocess.Popen([SERVELAB, "serve", "--backend", "none", "--pace", "llama-2-7b:h100", "--port", "0", "--port-file",
                               port_file, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    server.stdout.readline()
    with open(port_file) as f:
        return server, "http://127.0.0.1:" + f.read().strip()


def vllm(url, tmp, seed):
    words = " info warn debug worker cache queue disk node net user batch read write sync flush load open retry start stop".split()
    dice = random.Random(seed)
    with open(os.path.join(tmp, "prompts.jsonl"), "w") as f:
        for _ in range(N):
            f.write(json.dumps({"prompt": "".join(" " + dice.choice(words) for _ in range(WORDS))}) + "\n")
    subprocess.run([f"{VENV}/venv-clients-torch/bin/vllm", "bench", "serve", "--backend", "openai", "--base-url", url, "--endpoint",
                    "/v1/completions", "--model", "servelab-tiny", "--tokenizer", TOKENIZER, "--dataset-name", "custom", "--dataset-path",
                    f"{tmp}/prompts.jsonl", "--custom-output-len", str(OUTPUT), "--skip-chat-template", "--num-prompts", str(N),
                    "--max-concurrency", "4", "--ignore-eos", "--temperature", "0", "--disable-tqdm", "--save-result",
                    "--result-filename", f"{tmp}/vllm.json"], check=True, capture_output=True,
                   env={**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"})
    with open(f"{tmp}/vllm.json") as f:
        r = json.load(f)
    return r["completed"], r["median_ttft_ms"], r["median_tpot_ms"], r["total_input_tokens"] // N


def load(url, tmp, prompt_tokens):
    out = subprocess.run([SERVELAB, "load", "--url", url, "--arrivals", "closed", "--clients", "4", "--think-s", "0", "--requests",
                          str(N), "--prompt-tokens", str(prompt_tokens), "--output-tokens", str(OUTPUT), "--out", f"{tmp}/out",
                          "--force", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    s = json.loads(out.stdout)["summary"]
    return s["completed"], s["latency"]["ttft"]["p50"]["ns"] / 1e6, s["latency"]["tpot"]["p50"]["ns"] / 1e6


def main():
    rows = []
    with tempfile.TemporaryDirectory() as tmp:
        server, url = start(tmp)
        for turn in range(int(sys.argv[1])):
            n, ttft, tpot, prompt = vllm(url, tmp, turn)
            m, ttft2, tpot2 = load(url, tmp, prompt)
            rows.append((ttft2 / ttft, tpot2 / tpot))
            print(f"turn {turn + 1}: completed {n} and {m}; prompt {prompt}; TTFT {ttft:.1f} and {ttft2:.1f} ms; "
                  f"TPOT {tpot:.3f} and {tpot2:.3f} ms", flush=True)
        server.terminate()
        server.wait()
    for name, of in (("TTFT", 0), ("TPOT", 1)):
        r = [row[of] for row in rows]
        print(f"load / vllm, {name}: median {statistics.median(r):.3f} [{min(r):.3f} .. {max(r):.3f}]")


main()
