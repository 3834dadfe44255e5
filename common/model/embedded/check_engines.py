"""check_engines.py: an exported model in two independent engines against the golden items of evaluate.py.

    python evaluate.py FILE.gguf --golden GOLDEN.json
    python check_engines.py FILE.gguf GOLDEN.json

transformers computes in float32 from the GGUF; llama.cpp (llama-cpp-python) with its default float16 KV cache. Each
line of the output says what was compared and the largest difference. An engine that isn't installed is named and left
out. These are figures for a person; the exit status is 1 only where ids differ.

Not here: the native backend, which common/quality/tests/test_golden.c holds against golden.json.
"""

import argparse
import importlib.util
import json
import os

import numpy as np
import torch

from evaluate import load_gguf
from vocab import BOS_ID, encode


def prompts(golden):
    """(item, ids of its prompt)."""
    return [(item, [BOS_ID] + encode(item["prompt"])) for item in golden["items"]]


@torch.no_grad()
def check_transformers(path, golden):
    import transformers
    folder, name = os.path.split(os.path.abspath(path))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
    ours, positions, tops, worst, answers = load_gguf(path), 0, 0, 0.0, 0
    for item, ids in prompts(golden):
        answer = item["generated_ids"]
        whole = torch.tensor([ids + answer[:-1]])
        logits = theirs(whole).logits[0]
        want = ours.logits(ours.hidden(whole)[0])
        positions += len(logits)
        tops += (logits.argmax(-1) == want.argmax(-1)).sum().item()
        last = logits[len(ids) - 1]
        worst = max(worst, np.abs(last[:16].numpy() - np.array(item["first_16_logits"])).max())
        answers += logits[len(ids) - 1:].argmax(-1).tolist() == answer
    n = len(golden["items"])
    print(f"transformers {transformers.__version__}: first 16 logits after the prompt within {worst:.5f}; the same top "
          f"token as model.py at {tops} of {positions} positions; {answers} of {n} answers the same")
    return answers == n


def check_llama_cpp(path, golden):
    import llama_cpp
    model = llama_cpp.Llama(path, n_ctx=2304, n_batch=2304, verbose=False)
    same_ids, answers, worst = 0, 0, 0.0
    for item, ids in prompts(golden):
        same_ids += model.tokenize(item["prompt"].encode(), add_bos=True) == ids
        model.reset()
        model.eval(ids)
        last = np.ctypeslib.as_array(model._ctx.get_logits_ith(-1), shape=(model.n_vocab(),)).copy()
        worst = max(worst, np.abs(last[:16] - np.array(item["first_16_logits"])).max())
        got = []
        while len(got) < len(item["generated_ids"]):
            got.append(int(last.argmax()))
            model.eval(got[-1:])
            last = np.ctypeslib.as_array(model._ctx.get_logits_ith(-1), shape=(model.n_vocab(),)).copy()
        answers += got == item["generated_ids"]
    n = len(golden["items"])
    print(f"llama.cpp (llama-cpp-python {llama_cpp.__version__}): {same_ids} of {n} prompts give the same ids; first 16 "
          f"logits after the prompt within {worst:.3f}; {answers} of {n} answers the same")
    return same_ids == n


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gguf")
    parser.add_argument("golden")
    args = parser.parse_args()
    with open(args.golden) as f:
        items = json.load(f)
    good = True
    for package, check in (("transformers", check_transformers), ("llama_cpp", check_llama_cpp)):
        if importlib.util.find_spec(package):
            good &= check(args.gguf, items)
        else:
            print(f"{package} isn't installed")
    raise SystemExit(not good)
