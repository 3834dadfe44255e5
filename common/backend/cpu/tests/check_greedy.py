#!/usr/bin/env python3
"""check_greedy.py: greedy answers of SmolLM2-135M-Instruct (Q4_1) from two independent engines.

Engine 1, the exact one: Hugging Face transformers with the GGUF dequantised to float32. It makes the committed ids
(common/backend/tests/golden/smollm2_greedy.json, --write) and is compared with them without arguments. Engine 2:
llama.cpp through llama-cpp-python, where it is installed. It rounds activations to int8 and the cache to float16, so it
must agree only up to the first step at which transformers' margin between its two best logits is below NEAR_TIE.
test_greedy.c compares the native backend with the same file.

    check_greedy.py [--model build/models/smollm2.gguf] [--write]

Prints TAP; skips by name where the model or an engine is missing.
"""
import argparse
import importlib.util
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
GOLDEN = ROOT / "common/backend/tests/golden/smollm2_greedy.json"
SCHEMA = "servelab.golden-greedy.v1"
STEPS = 200
FLOAT_TIE = 1e-3  # logits; two float32 engines differ by about 1e-4 here
NEAR_TIE = 0.5  # logits; what int8 activations and a float16 cache move, with room
PROMPTS = [
    "What is gravity?",
    "Write a short story about a lighthouse keeper and a lost whale.",
    "List the first ten prime numbers and explain what a prime number is.",
    "Write a Python function that reverses a linked list.",
    "Explain in simple words how a refrigerator keeps food cold.",
]


def transformers_run(prompt, draft, steps):
    """Greedy ids and, for each step, the margin between the two best logits.

    A draft answer costs one pass over prompt and draft instead of one pass a token: as long as the engine's own choice
    at each position is the draft's next id, its greedy answer is the draft. From the first other choice on it goes on
    alone. The result is the engine's for any draft.
    """
    import torch
    ids, margins = list(prompt), []
    with torch.no_grad():
        while len(margins) < steps:
            logits = transformers_run.model(torch.tensor([ids + draft[:-1]])).logits[0, len(ids) - 1:]
            best = torch.topk(logits, 2)
            for i in range(len(logits)):
                ids.append(int(best.indices[i][0]))
                margins.append(float(best.values[i][0] - best.values[i][1]))
                if i < len(draft) and ids[-1] != draft[i]:
                    break
            draft = []
    return ids[len(prompt):][:steps], margins[:steps]


def load_transformers(path):
    import torch
    import transformers
    folder, name = str(path.resolve().parent), path.resolve().name
    transformers_run.model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=name, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
    return tokenizer, f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, float32"


def prompt_ids(tokenizer, text):
    chat = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    return tokenizer(chat, add_special_tokens=False)["input_ids"]


def llama_cpp_run(path, cases):
    """Its own choice after each prefix of prompt and golden answer: up to the first difference, its greedy answer."""
    import numpy as np
    import llama_cpp
    engine = llama_cpp.Llama(str(path), n_ctx=512, n_threads=1, n_threads_batch=1, logits_all=True, verbose=False)
    answers = []
    for c in cases:
        engine.reset()
        engine.eval(c["prompt"] + c["ids"][:-1])
        scores = engine.scores[len(c["prompt"]) - 1:engine.n_tokens]
        answers.append([int(i) for i in np.argmax(scores, axis=1)])
    return answers, f"llama-cpp-python {llama_cpp.__version__}"


def first_difference(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), None)


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def line(self, ok, text):
        self.n += 1
        self.failed += not ok
        print(f"{'ok' if ok else 'not ok'} {self.n} - {text}", flush=True)

    def compare(self, engine, i, got, case, tie):
        at = first_difference(got, case["ids"])
        if at is None:
            return self.line(True, f"{engine}, prompt {i + 1}: {len(got)} of {len(got)} tokens agree")
        margin = case["margins"][at]
        self.line(margin < tie, f"{engine}, prompt {i + 1}: first difference at token {at + 1}, where the golden "
                                f"margin is {margin:.4f} logits (a tie is below {tie})")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--model", type=pathlib.Path, default=ROOT / "build/models/smollm2.gguf")
    args.add_argument("--write", action="store_true")
    args = args.parse_args()
    if not args.model.exists():
        print(f"ok 1 - greedy # SKIP {args.model} is not there; run: make model\n1..1")
        return 0
    tap = Tap()
    if args.write:
        tokenizer, made_by = load_transformers(args.model)
        drafts = [c["ids"] for c in json.loads(GOLDEN.read_text())["cases"]] if GOLDEN.exists() else []
        cases = []
        for i, text in enumerate(PROMPTS):
            ids = prompt_ids(tokenizer, text)
            out, margins = transformers_run(ids, drafts[i] if i < len(drafts) else [], STEPS)
            cases.append({"text": text, "prompt": ids, "ids": out, "margins": [round(m, 5) for m in margins]})
            print(f"{len(ids)} -> {len(out)} tokens, least margin {min(margins):.5f}", file=sys.stderr, flush=True)
        GOLDEN.write_text(json.dumps({"schema": SCHEMA, "model": "SmolLM2-135M-Instruct.Q4_1.gguf",
                                      "made_by": made_by, "cases": cases}).replace('{"text"', '\n{"text"'))
        return 0
    cases = json.loads(GOLDEN.read_text())["cases"]
    if importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"):
        tokenizer, engine = load_transformers(args.model)
        for i, case in enumerate(cases):
            if prompt_ids(tokenizer, case["text"]) != case["prompt"]:
                tap.line(False, f"{engine}, prompt {i + 1}: other prompt ids")
            tap.compare(engine, i, transformers_run(case["prompt"], case["ids"], STEPS)[0], case, FLOAT_TIE)
    else:
        tap.line(True, "transformers # SKIP transformers and torch are not installed")
    if importlib.util.find_spec("llama_cpp"):
        answers, engine = llama_cpp_run(args.model, cases)
        for i, case in enumerate(cases):
            tap.compare(engine, i, answers[i], case, NEAR_TIE)
    else:
        tap.line(True, "llama.cpp # SKIP llama-cpp-python is not installed")
    print(f"1..{tap.n}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
