"""evaluate.py: greedy exact match on unseen questions at prompts of exactly 2,048 tokens.

    python evaluate.py servelab-tiny.gguf [--logs 80] [--questions 8] [--seed 7] [--golden FILE]

It reads the *exported* file, so what is measured is what ships. Each log gets `questions` questions
of each kind. The questions of one log share its first 2,016 tokens, which are computed once; each
question then brings its own last 32 tokens (filler lines, cut on the left, and the question), so
that every prompt is exactly 2,048 tokens long.

--golden writes 16 prompts with logits and answers, against which another engine can be checked;
those prompts share nothing and are computed whole.

Not here: what a server does with the model; the checks of the running system are in C.
"""

import argparse
import hashlib
import json
import math
import random
import struct
import time

import gguf
import torch

import data
from model import Config, Model
from vocab import BOS_ID, EOS_ID, decode, encode

TAIL_TOKENS = 32  # the longest question and at least one line break fit
MAX_ANSWER_TOKENS = 256
KINDS = ["recall", "sum", "tool", "count"]
NAMES = {"blocks.{}.attn_norm": "blk.{}.attn_norm", "blocks.{}.wq": "blk.{}.attn_q",
         "blocks.{}.wk": "blk.{}.attn_k", "blocks.{}.wv": "blk.{}.attn_v",
         "blocks.{}.wo": "blk.{}.attn_output", "blocks.{}.ffn_norm": "blk.{}.ffn_norm",
         "blocks.{}.gate": "blk.{}.ffn_gate", "blocks.{}.up": "blk.{}.ffn_up",
         "blocks.{}.down": "blk.{}.ffn_down"}


def to_halves(weight, heads):
    """Undoes export_gguf.to_neighbour_pairs."""
    rows, n_in = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, n_in).transpose(1, 2).reshape(rows, n_in)


def load_gguf(path):
    """The exported model in float32."""
    reader = gguf.GGUFReader(path)
    stored = {t.name: torch.from_numpy(gguf.quants.dequantize(t.data, t.tensor_type).copy())
              for t in reader.tensors}
    model = Model(Config()).eval()
    c, state = model.c, {"embed.weight": stored["token_embd.weight"],
                         "out_norm.weight": stored["output_norm.weight"]}
    for i in range(c.layers):
        for ours, theirs in NAMES.items():
            state[ours.format(i) + ".weight"] = stored[theirs.format(i) + ".weight"]
        state[f"blocks.{i}.wq.weight"] = to_halves(state[f"blocks.{i}.wq.weight"], c.q_heads)
        state[f"blocks.{i}.wk.weight"] = to_halves(state[f"blocks.{i}.wk.weight"], c.kv_heads)
    model.load_state_dict(state)
    return model


@torch.no_grad()
def score_answers(model, tails, answers, caches):
    """[(greedy decoding would give exactly this answer, its mean NLL in nats a token)].

    The right answers are fed in one batch. Greedy decoding gives exactly the right answer if and
    only if each of its tokens is the likeliest after the right ones before it, so this is the same
    verdict as generating token by token, at a tenth of the time; `answer_greedily` is
    the other way.
    """
    rows = [tail + answer for tail, answer in zip(tails, answers)]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [EOS_ID] * (longest - len(row)) for row in rows])
    hidden = model.hidden(ids, caches=[dict(c) for c in caches])
    out = []
    for h, tail, answer in zip(hidden, tails, answers):
        logits = model.logits(h[len(tail) - 1 : len(tail) - 1 + len(answer)])
        want = torch.tensor(answer)
        out.append(((logits.argmax(-1) == want).all().item(),
                    torch.nn.functional.cross_entropy(logits, want).item()))
    return out


@torch.no_grad()
def answer_greedily(model, tail, caches):
    """Ids generated token by token after a shared past and this tail, EOS included if it came."""
    caches, out = [dict(c) for c in caches], []
    step = tail
    while len(out) < MAX_ANSWER_TOKENS and out[-1:] != [EOS_ID]:
        hidden = model.hidden(torch.tensor([step]), caches=caches)
        out.append(model.logits(hidden[0, -1]).argmax().item())
        step = out[-1:]
    return out


def one_log(r, questions):
    """(ids of the shared past, [(kind, tail ids, answer text)]); no key is recalled twice."""
    keys = data.log_keys(r, r.randint(*data.KEYS_IN_LOG))
    counted = list(keys)[::2]
    for key in counted:
        keys[key] = keys[key][:2] + data.value_to_count(r, r.randint(*data.COUNT_NUMBERS))[2:]
    past = [BOS_ID] + data.eval_log(r, data.PROMPT_TOKENS - TAIL_TOKENS - 1, keys)
    pairs = [("recall", data.recall_question(key, keys[key]))
             for key in r.sample(list(keys), min(questions, len(keys)))]
    pairs += [("sum", data.sum_question(r, True)) for _ in range(questions)]
    pairs += [("tool", data.tool_question(r, True)) for _ in range(questions)]
    pairs += [("count", data.count_question(key, keys[key]))
              for key in (counted * questions)[:questions]]
    asked = []
    for kind, (question, answer) in pairs:
        q = encode(question)
        tail = data.eval_log(r, TAIL_TOKENS - len(q), {}) + q
        prompt = (past + tail)[1:]
        assert len(prompt) == data.PROMPT_TOKENS - 1 and encode(decode(prompt)) == prompt
        asked.append((kind, tail, answer))
    return past, asked


def interval_95(right, n):
    """Wilson's interval of a share, in percent: accurate near 100 %, where the plain interval is not."""
    z, p = 1.96, right / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return 100 * (middle - half) / (1 + z * z / n), 100 * (middle + half) / (1 + z * z / n)


def evaluate(model, logs, questions, seed, show_errors):
    score = {k: [0, 0, 0.0] for k in KINDS}
    started = time.time()
    for number in range(logs):
        past, asked = one_log(random.Random(f"{seed}/{number}"), questions)
        caches = model.new_caches()
        with torch.no_grad():
            model.hidden(torch.tensor([past]), caches=caches)
        answers = [encode(answer) + [EOS_ID] for _, _, answer in asked]
        scores = score_answers(model, [tail for _, tail, _ in asked], answers, caches)
        for (kind, tail, answer), (right, nll) in zip(asked, scores):
            score[kind][0] += right
            score[kind][1] += 1
            score[kind][2] += nll
            if not right and show_errors:
                gave = decode(answer_greedily(model, tail, caches))
                print(f"  {kind}: {decode(tail)!r} gave {gave!r}, want {answer!r}", flush=True)
    print("| task | exact match | n | 95 % interval | answer NLL |\n|---|---|---|---|---|")
    for kind, (right, n, nll) in score.items():
        low, high = interval_95(right, n)
        print(f"| {kind} | {100 * right / n:.1f} % | {n} "
              f"| {low:.1f} to {high:.1f} % | {nll / n:.4f} |")
    print(f"{logs} logs, {time.time() - started:.0f} s")


@torch.no_grad()
def write_golden(model, path, seed=11):
    """Four prompts a task, each computed whole in float32."""
    items = []
    for kind in ["recall", "sum", "tool"] * 4 + ["count"] * 4:
        ids, answer, question = data.eval_prompt(random.Random(f"{seed}/{len(items)}"), kind)
        text = decode(ids[1:])
        assert encode(text) == ids[1:], "the text of a prompt must give back its ids"
        logits = model.logits(model.hidden(torch.tensor([ids]))[0, -1])
        caches = model.new_caches()
        model.hidden(torch.tensor([ids[:-1]]), caches=caches)
        digest = hashlib.sha256(struct.pack(f"<{len(ids)}i", *ids)).hexdigest()
        items.append({"task": kind, "prompt": text, "prompt_tokens": len(ids),
                      "prompt_ids_sha256": digest, "question": question, "answer": answer,
                      "first_16_logits": [round(x, 5) for x in logits[:16].tolist()],
                      "top_token": logits.argmax().item(),
                      "generated_ids": answer_greedily(model, ids[-1:], caches)})
    header = {"what": "2,048-token prompts, BOS included in the ids and not in the text; logits at "
                      "the last prompt position, float32 arithmetic on the weights of the GGUF",
              "digest": "sha256 of the prompt ids as little-endian int32", "items": items}
    with open(path, "w") as f:
        json.dump(header, f, indent=1, ensure_ascii=True)
        f.write("\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gguf")
    parser.add_argument("--logs", type=int, default=80)
    parser.add_argument("--questions", type=int, default=8, help="of each kind, a log")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--golden", help="write golden items here instead")
    parser.add_argument("--errors", action="store_true", help="print every wrong answer")
    args = parser.parse_args()
    shipped = load_gguf(args.gguf)
    if args.golden:
        write_golden(shipped, args.golden)
    else:
        evaluate(shipped, args.logs, args.questions, args.seed, args.errors)
