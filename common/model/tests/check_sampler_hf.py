#!/usr/bin/env python3
"""check_sampler_hf.py [--write]: what Hugging Face's LogitsProcessors make of a few vectors of logits.

Compares them with golden/sampler.json, which test_token_rules.c compares ours with, and prints TAP; with --write makes
that file anew. The processors are called one by one, in the order that token_rules.h and sampler.h state: bias,
repetition penalty, minimum length, temperature, min_p, top_k, top_p. The library has no presence and frequency penalty;
the C test computes those by hand. Made with transformers 5.24.0, torch 2.15.0.
"""
import json, os, random, sys
import torch
from transformers import (MinNewTokensLengthLogitsProcessor, MinPLogitsWarper, RepetitionPenaltyLogitsProcessor,
                          SequenceBiasLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "sampler.json")
VOCAB, ENDS = 24, [3, 7]
SETTINGS = [
    {"repetition_penalty": 1.3}, {"repetition_penalty": 0.7}, {"logit_bias": [[2, 4.5], [9, -100.0]]},
    {"min_tokens": 5}, {"min_tokens": 2}, {"temperature": 0.7, "top_k": 5}, {"temperature": 1.5, "min_p": 0.2},
    {"temperature": 1.0, "top_k": 8, "top_p": 0.6}, {"temperature": 0.9, "min_p": 0.05, "top_p": 0.9},
    {"temperature": 1.2, "min_p": 0.1, "top_k": 6, "top_p": 0.8},
    {"repetition_penalty": 1.8, "logit_bias": [[0, 3.0], [20, -1.0]], "min_tokens": 9, "temperature": 0.8, "min_p": 0.02,
     "top_k": 7, "top_p": 0.95},
]


def case(number, settings):
    draw = random.Random(number)
    logits = [round(draw.uniform(-4, 4), 3) for _ in range(VOCAB)]
    prompt = [draw.randrange(VOCAB) for _ in range(6)]
    output = [draw.randrange(VOCAB) for _ in range(4)]
    ids, x = torch.tensor([prompt + output]), torch.tensor([logits])
    processors = []
    if "logit_bias" in settings:
        processors.append(SequenceBiasLogitsProcessor([[[i], b] for i, b in settings["logit_bias"]]))
    if "repetition_penalty" in settings:
        processors.append(RepetitionPenaltyLogitsProcessor(settings["repetition_penalty"]))
    if "min_tokens" in settings:
        processors.append(MinNewTokensLengthLogitsProcessor(len(prompt), settings["min_tokens"], ENDS))
    for p in processors:
        x = p(ids, x)
    changed = [None if v == -torch.inf else v for v in x[0].tolist()]
    processors = [TemperatureLogitsWarper(settings.get("temperature", 1.0))]
    if "min_p" in settings:
        processors.append(MinPLogitsWarper(settings["min_p"]))
    if "top_k" in settings:
        processors.append(TopKLogitsWarper(settings["top_k"]))
    if "top_p" in settings:
        processors.append(TopPLogitsWarper(settings["top_p"]))
    for p in processors:
        x = p(ids, x)
    return {"settings": settings, "logits": logits, "prompt": prompt, "output": output, "ends": ENDS,
            "changed": changed, "probability": torch.softmax(x.double(), -1)[0].tolist()}


def main():
    made = [case(i, s) for i, s in enumerate(SETTINGS)]
    made = json.loads(json.dumps(made), parse_float=lambda x: round(float(x), 7))
    if sys.argv[1:] == ["--write"]:
        with open(GOLDEN, "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(c) for c in made) + "\n]\n")
        return 0
    with open(GOLDEN) as f:
        same = json.load(f) == made
    print(f"1..1\n{'ok' if same else 'not ok'} 1 - transformers gives the golden values")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
