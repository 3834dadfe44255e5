#!/usr/bin/env python3
"""test_draft_model.py: `serve --draft-model` as a program: answers are those without it, what is counted agrees everywhere, and
models that don't belong together are refused. The engine's part: test_speculation.c, test_same_tokens.c."""
# servelab-test: waits
import json
import os
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../model/tests")]
import prometheus_text  # noqa: E402
import small_gguf  # noqa: E402
from harness import MODEL_FILE, SERVELAB, RealServer, equal, run_tests, wait_until  # noqa: E402

PROMPTS = ["12+30=", "The key is 4711. The key is", "a b c d e f g h a b c", "Once", "[1, 2, 3, 4,", "{\"a\": ", "7*8=", "x" * 40]
ASKED = [{"prompt": p, **more} for p in PROMPTS for more in (
    {"temperature": 0, "max_tokens": 24}, {"temperature": 0.8, "seed": 3, "max_tokens": 17, "ignore_eos": True},
    {"temperature": 0, "max_tokens": 30, "stop": ["3", "e "]}, {"temperature": 0, "max_tokens": 9, "logprobs": 2, "ignore_eos": True},
    {"temperature": 1, "seed": 9, "n": 2, "max_tokens": 12, "top_k": 8}, {"temperature": 0, "max_tokens": 20, "frequency_penalty": 1})]


def edited(folder, change):
    """A copy of the embedded model with other bytes."""
    path = os.path.join(folder, "draft.gguf")
    with open(MODEL_FILE, "rb") as f, open(path, "wb") as to:
        to.write(change(f.read()))
    return path


def poor(model):
    """Its last weights are 0: it answers like the model, but not always."""
    n = len(model) // 8
    return model[:-n] + bytes(n)


def lines_of(path):
    with open(path) as f:
        return f.read().count("\n")


def answers(*args, log=None, extra=lambda s: None):
    """What each request of ASKED gets, eight at a time."""
    got = [None] * len(ASKED)
    with RealServer(*args, *(["--log", log, "--record-grace-ms", "0"] if log else [])) as s:
        def ask(first):
            for i in range(first, len(ASKED), 8):
                r = s.post("/v1/completions", {"model": s.model, **ASKED[i]})
                equal(r.status, 200, r.body)
                got[i] = [(c["text"], c["finish_reason"], c["logprobs"]) for c in r.json()["choices"]]

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        extra(s)
    assert None not in got
    return got


def answers_are_the_same_and_the_counts_agree():
    plain = answers()
    with tempfile.TemporaryDirectory() as folder:
        log, steps = os.path.join(folder, "log"), os.path.join(folder, "steps")
        page = {}

        def scrape(s):
            n = sum(a.get("n", 1) for a in ASKED)
            wait_until(lambda: lines_of(log) == n, f"{n} records")
            page.update(prometheus_text.read(s.get("/metrics").body.decode()))
            equal(s.ready["draft"]["tokens"], 5, "the ready line")
            equal(s.ready["draft"]["kv_bytes_per_token"], 4096, "the ready line")

        speculative = answers("--draft-model", edited(folder, poor), "--draft-tokens", "5", "--step-log", steps, "--kv-blocks", "60",
                              log=log, extra=scrape)
        for asked, a, b in zip(ASKED, plain, speculative):
            equal(b, a, f"{asked}:")
        records = [json.loads(line)["workload"] for line in open(log)]
        lines = [json.loads(line) for line in open(steps)]
        equal(lines[0]["draft_tokens"], 5, "the log's head")
        drafted, accepted, passes = (sum(r[k] for r in records) for k in ("draft_tokens", "accepted_draft_tokens", "draft_steps"))
        equal(sum(s["draft_tokens"] for s in lines[1:]), drafted, "drafted, in the step log")
        equal(sum(s["accepted_draft_tokens"] for s in lines[1:]), accepted, "accepted, in the step log")
        assert 0 < accepted < drafted and passes > 0
        for s in lines[1:]:
            equal(s["acceptance_rate"], round(s["accepted_draft_tokens"] / s["draft_tokens"], 3) if s["draft_tokens"] else None)
            d = s["decode_tokens"]
            equal(s["tokens_per_pass"], round((d + s["accepted_draft_tokens"]) / d, 3) if d else None)
        for name, n in (("drafts", passes), ("draft_tokens", drafted), ("accepted_tokens", accepted)):
            equal([int(v) for v in page[f"vllm:spec_decode_num_{name}_total"][1].values()], [n], name)
        r = subprocess.run([SERVELAB, "sim", "calibrate", steps], capture_output=True, text=True, timeout=60)
        equal(r.returncode, 2, r.stderr)
        assert "draft model" in r.stderr, r.stderr
        r = subprocess.run([SERVELAB, "record", "check", log], capture_output=True, text=True, timeout=60)
        equal(r.returncode, 0, r.stdout + r.stderr)


def other_machines_speculate_too():
    """Paced: a step with drafts costs what it costs. None: all drafts are right. The CUDA source on the CPU."""
    for args in (["--pace", "llama-2-7b:h100", "--draft-cost", "0.1"], ["--backend", "none"], ["--backend", "simt", "--precision", "exact"],
                 ["--backend", "simt", "--pace", "llama-2-7b:h100"]):
        with RealServer("--draft-model", MODEL_FILE, *args) as s:
            r = s.post("/v1/completions", {"model": s.model, "prompt": "12+30=", "max_tokens": 11, "temperature": 0, "ignore_eos": True},
                       headers={"X-Request-Id": "one"})
            equal((r.status, r.json()["usage"]["completion_tokens"]), (200, 11), args)
            work = s.record("one")["workload"]
            equal((work["draft_steps"], work["draft_tokens"], work["accepted_draft_tokens"]), (2, 8, 8), args)


def models_that_do_not_belong_together_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        other = os.path.join(folder, "other.gguf")
        small_gguf.write(other, *small_gguf.model())
        renamed = edited(folder, lambda b: b.replace(b"<|unused3|>", b"<|used_3|>!"))
        for args, parts in ((["--draft-model", other], ["--draft-model", "261", "448", "must be the same"]),
                            (["--draft-model", renamed], ["--draft-model", "token 444", "'<|used_3|>!'", "'<|unused3|>'"]),
                            (["--draft-model", "/nonexistent/m.gguf"], ["--draft-model", "/nonexistent/m.gguf"]),
                            (["--draft-model", MODEL_FILE, "--kv-bytes", "9999999"], ["--kv-bytes", "--kv-blocks"]),
                            (["--draft-tokens", "4"], ["--draft-tokens", "--draft-model"]),
                            (["--draft-model", MODEL_FILE, "--draft-cost", "1"], ["--draft-cost", "--pace"]),
                            (["--draft-model", MODEL_FILE, "--draft-tokens", "0"], ["--draft-tokens"]),
                            (["--draft-model", MODEL_FILE, "--token-budget", "65536"], ["--draft-model", "--token-budget"])):
            r = subprocess.run([SERVELAB, "serve", "--model", MODEL_FILE, "--port", "0", *args], capture_output=True, text=True, timeout=60)
            equal(r.returncode, 2, f"{args}: {r.stderr}")
            for part in parts:
                assert part in r.stderr, f"{args}: {r.stderr}"


sys.exit(run_tests([answers_are_the_same_and_the_counts_agree, other_machines_speculate_too,
                    models_that_do_not_belong_together_are_refused]))
