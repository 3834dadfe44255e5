#!/usr/bin/env python3
"""test_hidden_seed.py: a submission can't read a hidden seed back. TAP.

The submissions here are spies: what they see of a case decides how they fail (signals, exit statuses, endless loops, messages,
counts, lines of the sanitizers' findings, leaks, names that aren't written yet). An observer compares the verdicts of some hidden
seeds: what differs is outcomes and kinds of cases, and a check with the same outcome says the same. With practice seeds the same
spies say many different things, so the comparison isn't empty."""

# servelab-test: long
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import attack

SEEDS = ["the first text that nobody sees", "the second text that nobody sees", "a third one, of another length"]

LINES = "\n".join(f"    case {i}: p[{i} + 16] = 1; break;" for i in range(128))
SPY = """#include "base/lab_todo.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *volatile kept;
static volatile int zero;
static volatile int *volatile nowhere;
static void overrun(volatile int *p, unsigned h) {
    switch (h % 128) {
""" + LINES + """
    }
}
static unsigned seen(const void *data, size_t n) {
    unsigned h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)data)[i]) * 16777619u;
    return h >> 5;
}
static void spy(unsigned h) {
    static const char *const names[] = {"here", "there", "everywhere", "nowhere"};
    volatile int room[16];
    unsigned part = h / 16;
    switch (h % 16) {
    case 0: abort();
    case 1: __builtin_trap();
    case 2: exit((int)(part % 200) + 1);
    case 3: lab_todo("x.c", 1, names[part % 4]); break;
    case 4: printf("%x\\n", h); break;
    case 5: kept = malloc(16 + part % 4096); break;
    case 6: *nowhere = 1; break;
    case 7: zero = 1 / zero; break;
    case 8: overrun(room, part); break;
    case 9: if (part % 8 == 0) for (;;) zero = 0; break;
    default: break;
    }
}
"""


def inserted(file, function, given, call):
    """The reference's file with a spy at the beginning of one function's body."""
    with open(os.path.join(attack.TOP, file), encoding="utf-8") as f:
        text = f.read()
    at = text.index(function)
    at = text.index("{\n", at) + 2
    first = text.index("#include")
    return text[:first] + text[first:].split("\n", 1)[0] + "\n" + SPY + text[first:at].split("\n", 1)[1] + f"    spy(seen({given}){call});\n" + \
        text[at:]


KERNEL = """/* What it reads decides how it fails. */
#include "backend/kernels.h"
#include <assert.h>
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x), zero = n - n;
    if (i >= n) return;
    uint32_t h = __float_as_uint(in[0]) >> 3;
    float v = in[i];
    switch (h % 8) {
    case 0: out[i + 4 * n + (int32_t)(h / 8 % 64)] = v; break;
    case 1: out[i] = (float)(1 / zero); break;
    case 2: if (i == 0) printf("%u\\n", h); out[i] = 0; break;
    case 3: if (h / 8 % 4) out[i] = v; break;
    case 4: assert(i < 0); break;
    case 5: for (;;) out[i] = v;
    case 6: for (uint32_t k = 0; k < h / 8 % 16; k++) v = fminf(v, in[(i + (int32_t)k) % n]); out[i] = v; break;
    default: out[i] = v;
    }
}
"""

# lab: (checks, {file: text}), one spy each
SPIES = {
    "01": ("slo,safety", lambda: {
        "percentile.c": inserted("solutions/01_request_record/percentile.c", "struct percentile percentile_nearest_rank(",
                                 "obs_ns, n_ok * sizeof *obs_ns", " + (unsigned)n_failed")}),
    "02": ("intervals,quality,slo.search_finds,safety.same_plan", lambda: {
        "policy.c": inserted("solutions/02_queue_sim/policy.c", "static int learner_plan(", "v->waiting, v->n_waiting * sizeof *v->waiting", ""),
        "analysis.c": inserted("solutions/02_queue_sim/analysis.c", "enum point_class point_classify(", "r, sizeof *r", "")}),
    # of swiglu the launch is the spy: which field is out of range depends on the shape
    "03": ("copy,swiglu", lambda: {"copy.cu": KERNEL, "launch.json": json.dumps({
        **attack.LAUNCH, "swiglu": {"grid": ["rows * d"], "block": ["1 + d / 2 * 2048 - d * 1024"], "shared_bytes": "rows / 2 - rows"}})}),
    "04": ("slo,quality.kv_count,quality.kv_order,safety.no_leak", lambda: {
        "report.c": inserted("solutions/04_serving/report.c", "enum slo_answer report_verdict(", "p, sizeof *p", ""),
        "kv_blocks.c": inserted("solutions/04_serving/kv_blocks.c", "kv_table_reserve(", "&tokens, sizeof tokens", "")}),
}


def hand_in(lab, files, folder):
    reference = os.path.join(attack.TOP, attack.LABS[lab].reference)
    for name in os.listdir(reference):
        if name.endswith((".c", ".cu", ".json")):
            shutil.copy(os.path.join(reference, name), folder)
    for name, text in files.items():
        assert os.path.exists(os.path.join(folder, name)), name
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)


def grade(lab, folder, checks, *seed):
    out = os.path.join(folder, "verdict")
    p = subprocess.run([attack.SERVELAB, "grade", lab, *seed, "--format", "text,json=" + out, "--check", checks, "--", folder],
                       capture_output=True, stdin=subprocess.DEVNULL, timeout=600, check=False)
    assert p.returncode in (0, 1), (p.returncode, p.stdout, p.stderr)
    with open(out, encoding="utf-8") as f:
        return json.load(f), p.stdout.decode() + p.stderr.decode()


def observe(lab):
    checks, files = SPIES[lab]
    folder = tempfile.mkdtemp(prefix="servelab-spy-")
    os.chmod(folder, 0o755)
    try:
        hand_in(lab, files(), folder)
        shown, practice = [], set()
        for i, seed in enumerate(SEEDS):
            path = os.path.join(folder, "seed")
            with open(path, "w", encoding="utf-8") as f:
                f.write(seed)
            shown.append(grade(lab, folder, checks, "--seed-file", path))
            assert seed not in shown[-1][1]
            v, _ = grade(lab, folder, checks, "--seed", str(i + 1))
            practice |= {(c["id"], c["message"]) for c in v["checks"] if c["outcome"] == "lost"}
        for i in range(len(shown)):
            for k in range(i):
                what = attack.first_difference(shown[i][0], shown[k][0])
                assert not what, what
                assert shown[i][0] != shown[k][0] or shown[i][1] == shown[k][1], (shown[i][1], shown[k][1])
        lost = [c["message"] for v, _ in shown for c in v["checks"] if c["outcome"] == "lost"]
        assert len(lost) >= 3 and len(set(lost)) == 1, set(lost)
        return practice
    finally:
        shutil.rmtree(folder)


def main():
    failed = 0
    chosen = sys.argv[1:] or list(SPIES)
    for n, lab in enumerate(chosen, 1):
        try:
            practice = observe(lab)
            assert len(practice) >= 3, practice
            print(f"ok {n} - lab {lab}: {len(practice)} messages with practice seeds, one with hidden ones", flush=True)
        except Exception:  # every failure is a line of the report
            failed += 1
            traceback.print_exc()
            print(f"not ok {n} - lab {lab}", flush=True)
    print(f"1..{len(chosen)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
