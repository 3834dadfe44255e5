#!/usr/bin/env python3
"""lab03_tables.py [--check]: writes the tables of lab 03's handout and its roofline.json from the grader's own table.

Asks `servelab kernels --json` (or $SERVELAB) and writes, in solutions/03_kernels: the blocks of README.md between
`<!-- kernel: NAME -->` and `<!-- end -->` (and the one table `<!-- kernels -->`), roofline.json, and
roofline.json.starter. With --check it writes nothing, prints the files that would change, and exits 1 if there are any.
"""

import json
import os
import re
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
LAB = os.path.join(TOP, "solutions/03_kernels")
COUNTERS = {"bytes": "bytes", "requests": "requests", "wavefronts": "shared wavefronts", "bank_conflicts": "bank conflicts",
            "barriers": "barriers"}
CARD = {"name": "NVIDIA A100 40 GB", "source": "data sheet: HBM2 bandwidth; FP32 without tensor cores",
        "bytes_per_s": 1.555e12, "operations_per_s": 19.5e12}
# shapes of a server of a 7B-class model
SIZES = {
    "copy": "n=16777216",
    "copy_strided": "rows=4096 cols=4096 stride=6144",
    "rmsnorm": "rows=2048 d=4096",
    "softmax": "rows=256 d=32000",
    "rope": "tokens=2048 q_heads=32 kv_heads=8 head_dim=128",
    "swiglu": "rows=2048 d=11008",
    "embedding": "tokens=2048 d=4096",
    "gemm": "m=2048 n=4096 k=4096",
    "gemv": "rows=4096 cols=4096",
    "gemv_int8": "rows=4096 cols=11008",
    "attention_prefill": "tokens=2048 q_heads=32 kv_heads=8 head_dim=128",
    "attention_decode": "seqs=32 context=2048 q_heads=32 kv_heads=8 head_dim=128 splits=8",
    "attention_merge": "seqs=32 q_heads=32 head_dim=128 splits=8",
    "argmax": "rows=32 vocab=32000",
    "sample": "rows=32 vocab=32000 top_k=40",
}


def kernels(*args):
    program = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
    out = subprocess.run([program, "kernels", "--json", *args], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def budget_text(budgets):
    return "; ".join(f"{COUNTERS[b['counter']]} at most `{b['at_most']}`" for b in budgets) or "right"


def kernel_block(k):
    lines = [f"Must move `{k['bytes_form']}` bytes and do `{k['operations_form']}` operations.", "",
             "| version | idea | budget |", "|---|---|---|"]
    lines += [f"| {v['version']} | {v['idea']} | {budget_text(v['budgets'])} |" for v in k["versions"]]
    return "\n".join(lines)


def summary_block(table):
    lines = ["| kernel | what it is | bytes that must move | operations | versions |", "|---|---|---|---|---|"]
    lines += [f"| [{k['kernel']}](#kernel-{k['kernel']}) | {k['title']} | `{k['bytes_form']}` | `{k['operations_form']}` | "
              f"{len(k['versions'])} |" for k in table]
    return "\n".join(lines)


def readme(old, table):
    blocks = {"kernels": summary_block(table)}
    blocks.update({f"kernel: {k['kernel']}": kernel_block(k) for k in table})
    seen = set()

    def fill(m):
        seen.add(m.group(1))
        return f"<!-- {m.group(1)} -->\n{blocks[m.group(1)]}\n<!-- end -->"

    new = re.sub(r"<!-- (kernels|kernel: \w+) -->\n.*?<!-- end -->", fill, old, flags=re.S)
    missing = sorted(set(blocks) - seen)
    if missing:
        sys.exit(f"lab03_tables.py: the handout has no block for {missing}")
    return new


def three_digits(v):
    return float(f"{v:.3g}")


def roofline(table, blank):
    todo = "TODO"
    ridge = CARD["operations_per_s"] / CARD["bytes_per_s"]
    card = {k: todo for k in CARD} if blank else dict(CARD)
    card["ridge"] = todo if blank else three_digits(ridge)
    entries = {}
    for k in table:
        name = k["kernel"]
        one = kernels(name, SIZES[name])
        move = one["bytes"] / CARD["bytes_per_s"]
        compute = one["operations"] / CARD["operations_per_s"]
        answer = {"bytes": one["bytes"], "operations": one["operations"],
                  "intensity": three_digits(one["operations"] / one["bytes"]),
                  "bound": "memory" if move > compute else "compute", "least_time_ns": round(1e9 * max(move, compute))}
        entries[name] = {"sizes": SIZES[name], **({m: todo for m in answer} if blank else answer)}
    return json.dumps({"schema": "servelab.roofline.v1", "card": card, "kernels": entries}, indent=2) + "\n"


def main():
    table = kernels()["kernels"]
    path = os.path.join(LAB, "README.md")
    with open(path, encoding="utf-8") as f:
        files = {"README.md": readme(f.read(), table)}
    files["roofline.json"] = roofline(table, False)
    files["roofline.json.starter"] = roofline(table, True)
    stale = []
    for name, text in files.items():
        path = os.path.join(LAB, name)
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if old == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv[1:]:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
    print("\n".join(stale) if stale else "nothing to change")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
