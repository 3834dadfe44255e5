"""mistakes.py: usual mistakes, planted one by one into the references: what each is, the check that it must lose,
and the words of the message that lead to the cause. test_mistakes.py asks for them; print_mistakes.py prints the messages
for a blind reading. grader/README.md has the table."""

import collections
import json
import os
import re
import shutil
import subprocess
import tempfile

from plant import plant

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
REFERENCES = {"01": "solutions/01_request_record", "02": "solutions/02_queue_sim", "03": "solutions/03_kernels"}

# edits: (old, new) in the file, each applied once, or a function of the text. graded: what --check gets, when that is more
# than the check itself. says: parts of the check's text, all of which must be there.
Mistake = collections.namedtuple("Mistake", "name lab file edits check says graded", defaults=[None])


def in_milliseconds(text):
    return re.sub(r'"t_ns": (\d+)', lambda m: f'"t_ns": {int(m[1]) // 1000000}', text)


def leaking_time(text):
    return "#include <stdlib.h>\n" + re.sub(r"(\nint64_t kernel_time_ns\([^{]*\{)", r"\1\n    if (!malloc(64)) abort();", text)


MISTAKES = [
    Mistake("start and end swapped", "01", "intervals.c",
            [("interval_between(r, accepted, record_event(r, EV_REQUEST_ADMITTED))",
              "interval_between(r, record_event(r, EV_REQUEST_ADMITTED), accepted)")],
            "intervals.queue_delay", ["queue_delay", "start and end are swapped"]),
    Mistake("divided by tokens instead of gaps", "01", "intervals.c",
            [("(int64_t)r->workload.output_tokens - 1", "(int64_t)r->workload.output_tokens"),
             ("if (steps < 1) return absent", "if (steps < 2) return absent")],
            "intervals.tpot", ["divided by the number of tokens"]),
    Mistake("milliseconds instead of nanoseconds", "01", "intervals.c",
            [("end->t_ns + o.offset_ns - start->t_ns;", "(end->t_ns + o.offset_ns - start->t_ns) / 1000000;")],
            "intervals.client_ttft", ["in milliseconds, not in nanoseconds"]),
    Mistake("a negative interval becomes 0", "01", "intervals.c",
            [("if (ns < 0) return (struct interval){INTERVAL_NEGATIVE, 0, 0};", "if (ns < 0) ns = 0;")],
            "intervals.negative", ["clamped to 0"]),
    Mistake("the reserve added instead of divided", "01", "slo.c",
            [("o->resource.accelerators / (1 - o->resource.reserve_fraction)", "o->resource.accelerators * (1 + o->resource.reserve_fraction)")],
            "slo.value", ["multiplied by 1 + reserve"]),
    Mistake("times of two clocks subtracted", "01", "intervals.c",
            [("if (start->clock != end->clock && !offset_to", "if (start->clock > CLOCK_SIM && !offset_to")],
            "intervals.cross_clock", ["times of two clocks are subtracted"]),
    Mistake("a local that was never written, in C", "01", "intervals.c",
            [("size_t n_open = 0, n_pairs = 0;", "size_t n_open = 0, n_pairs;")],
            "intervals.gpu_execution", ["intervals.c:", "'n_pairs'", "uninitialized"]),
    Mistake("an interpolated percentile", "01", "percentile.c",
            [("if (!p.infinite) p.ns = select_i64(obs_ns, n_ok, rank - 1);",
              "if (p.infinite) return p;\n    double at = (double)(n_ok - 1) * percentile_milli / WHOLE;\n"
              "    size_t low = (size_t)at, high = low + 1 < n_ok ? low + 1 : low;\n"
              "    int64_t a = select_i64(obs_ns, n_ok, low), b = select_i64(obs_ns, n_ok, high);\n"
              "    p.ns = a + (int64_t)((at - (double)low) * (double)(b - a));")],
            "slo.percentile_rank", ["interpolated between two observations"]),
    Mistake("a rank that counts from 0", "01", "percentile.c",
            [("select_i64(obs_ns, n_ok, rank - 1)", "select_i64(obs_ns, n_ok, rank < n_ok ? rank : rank - 1)")],
            "slo.percentile_rank", ["used as an array index"]),
    Mistake("a value equal to its limit passes", "01", "slo.c",
            [("p->ns < limit->below_ns", "p->ns <= limit->below_ns")],
            "slo.strict", ["<= instead of <"]),
    Mistake("memory that isn't given back", "01", "percentile.c",
            [("p.present = true;", "p.present = true;\n    if (!malloc(48)) return p;"),
             ('#include "base/err.h"', '#include "base/err.h"\n#include <stdlib.h>')],
            "safety.no_leak", ["percentile_nearest_rank in percentile.c", "give back", "64 bytes are left each time"]),
    Mistake("a NULL pointer is followed", "01", "slo.c",
            [("enum slo_answer all = SLO_MET;", "enum slo_answer all = percentiles->n + 1 ? SLO_MET : SLO_MISSED;")],
            "safety.inputs_unchanged", ["SIGSEGV", "NULL pointer", "slo.c:", "percentiles is NULL"]),
    Mistake("milliseconds in record.json", "01", "record.json", in_milliseconds,
            "evidence.record_plausible", ["client_ttft is", "are these milliseconds?"]),
    Mistake("one wrong interval, three lost checks", "02", "analysis.c",
            [("r->admitted_ns - r->arrival_ns", "r->first_token_ns - r->arrival_ns")],
            "intervals.percentiles", ["follows from intervals.queue_delay", "ends at the first token, not at the admission"], "intervals"),
    Mistake("rates per millisecond", "02", "analysis.c",
            [("double window_s = window_ns / NS_PER_S;", "double window_s = window_ns / NS_PER_MS;")],
            "intervals.rates", ["a unit is wrong", "1,000 times too small"]),
    Mistake("no room for growth", "02", "policy.c",
            [("GROWTH_TOKENS = 64", "GROWTH_TOKENS = 0")],
            "slo.goodput_admission", ["computed and then lost", "running ones will need"]),
    Mistake("prompts in far too small pieces", "02", "policy.c",
            [("CHUNK_TOKENS = 512", "CHUNK_TOKENS = 8")],
            "slo.goodput_admission", ["prompts run in pieces that are far too small, of", "Give an iteration more tokens of a prompt"]),
    Mistake("no look at the cache before admission", "02", "policy.c",
            [("promised > v->total_kv_blocks || ", "")],
            "slo.goodput_admission", ["preemptions", "without checking the free KV blocks"]),
    Mistake("a prompt in one piece", "02", "policy.c",
            [("CHUNK_TOKENS = 512", "CHUNK_TOKENS = 1000000")],
            "slo.goodput_chunking", ["too slow", "a whole prompt"]),
    Mistake("too long a wait for company", "02", "policy.c",
            [("GROUP_WAIT_NS = 10 * NS_PER_MS", "GROUP_WAIT_NS = 3000 * NS_PER_MS")],
            "slo.batch_starts", ["too late", "though nothing was running", "a shorter time"]),
    Mistake("a policy's state that isn't given back", "02", "policy.c",
            [('{"learner-batch", batch_create, batch_plan, free}', '{"learner-batch", batch_create, batch_plan, keep}'),
             ("static void *batch_create(", "static void keep(void *state) {\n    (void)state;\n}\n\nstatic void *batch_create(")],
            "safety.no_leak", ["create() followed by destroy() of policy_learner_batch in policy.c", "32 bytes are left each time"]),
    Mistake("destroy() keeps the state", "02", "policy.c",
            [('{"learner", learner_create, learner_plan, free}', '{"learner", learner_create, learner_plan, keep}'),
             ("static void *learner_create(", "static void keep(void *state) {\n    (void)state;\n}\n\nstatic void *learner_create(")],
            "safety.no_leak", ["destroy() of policy_learner in policy.c", "32 bytes are left each time"]),
    Mistake("a plan that depends on a static variable", "02", "policy.c",
            [("struct room room = {v->token_budget, v->free_kv_blocks};",
              "static int32_t calls;\n    struct room room = {v->token_budget - calls++ % 2, v->free_kv_blocks};")],
            "safety.same_plan", ["learner: asked twice", "static or global variable", "first call:", "second call:"]),
    Mistake("create() takes any argument", "02", "policy.c",
            [("if (!arg[0]) return state;", "if (arg) return state;")],
            "quality.create_arguments", ["create() takes an argument, though 'learner' has none", "refused, with NULL and the reason in *e", "returned a state", "the compiler warns, which may have the same cause: policy.c"]),
    Mistake("create() keeps its argument for all policies", "02", "policy.c",
            [("min32(*(const int32_t *)state,", "min32(group_size,"),
             ("    *size = (int32_t)n;", "    *size = group_size = (int32_t)n;"),
             ("static int batch_plan(", "static int32_t group_size;\n\nstatic int batch_plan(")],
            "quality.create_arguments", ["forms a group of more than 2", "static or global variable", "the state that create() returns"]),
    Mistake("a quotient upside down", "03", "kernel_time.c",
            [("card->operations_per_s / card->bytes_per_s;", "card->bytes_per_s / card->operations_per_s;")],
            "intervals.ridge", ["upside down"]),
    Mistake("a copy for sorting that isn't freed", "03", "kernel_time.c", leaking_time,
            "safety.memory", ["kernel_time_ns in kernel_time.c, or a function that it calls, doesn't give back", "bytes a call"]),
    Mistake("an array that was never written, in a kernel", "03", "gemv.cu",
            [("float sum[ROWS] = {0, 0, 0, 0};", "float sum[ROWS];")],
            "quality.gemv", ["gemv.cu:", "'sum", "is read before anything was written to it"]),
    Mistake("a tie goes to the highest index", "03", "argmax.cu",
            [("(unsigned)~index", "(unsigned)index"), ("(int32_t) ~(unsigned)best", "(int32_t)(unsigned)best")],
            "quality.argmax", ["Both have the same logit", "lowest index"]),
    Mistake("rmsnorm without eps", "03", "rmsnorm.cu",
            [("/ (float)d + eps", "/ (float)d + 0 * eps")],
            "quality.rmsnorm", ["as if eps were 0"]),
    Mistake("gemv_int8 without its scale", "03", "gemv_int8.cu",
            [("scale[first + i] * total;", "total;")],
            "quality.gemv_int8", ["as if each scale were 1"]),
    Mistake("rope with the other sign", "03", "rope.cu",
            [("a.x * c.x - b.x * s.x, a.y * c.y - b.y * s.y, a.z * c.z - b.z * s.z,", "a.x * c.x + b.x * s.x, a.y * c.y + b.y * s.y, a.z * c.z + b.z * s.z,"),
             ("a.w * c.w - b.w * s.w)", "a.w * c.w + b.w * s.w)"),
             ("a.x * s.x + b.x * c.x, a.y * s.y + b.y * c.y, a.z * s.z + b.z * c.z,", "b.x * c.x - a.x * s.x, b.y * c.y - a.y * s.y, b.z * c.z - a.z * s.z,"),
             ("a.w * s.w + b.w * c.w)", "b.w * c.w - a.w * s.w)")],
            "quality.rope", ["as if the sines had the other sign"]),
    Mistake("a barrier left out", "03", "rmsnorm.cu",
            [("    __syncthreads();\n    float sum = 0;", "    float sum = 0;")],
            "safety.rmsnorm", ["rmsnorm.cu:", "race"]),
    Mistake("a bandwidth a thousand times too small", "03", "roofline.json",
            [('"bytes_per_s": 1555000000000.0', '"bytes_per_s": 1555000000.0')],
            "evidence.card", ["roofline.json:", "bytes_per_s", "another unit"]),
    Mistake("a block of the wrong size", "03", "launch.json",
            [('"block": [256]', '"block": [4096]')],
            "quality.copy", ["launch.json:", "block[0]: 4096 threads; it may have 1 to 1024"]),
]


def said(verdict, check):
    """Everything that the learner reads about a check."""
    c = next(c for c in verdict["checks"] if c["id"] == check)
    parts = [c.get("message"), c.get("input")]
    for label, text in (("case", c.get("kind")), ("yours", c.get("got")), ("expected", c.get("want"))):
        parts.append(text and f"{label}: {text}")
    for line in (verdict.get("warnings") or "").splitlines():
        parts.append(f"the compiler warns, which may have the same cause: {line}")
    parts.append(c.get("file") and f"open: {c['file']}")
    return "\n".join(p for p in parts if p)


def planted(m):
    """The text of the file with the mistake in it."""
    with open(os.path.join(TOP, REFERENCES[m.lab], m.file), encoding="utf-8") as f:
        text = f.read()
    if callable(m.edits):
        return m.edits(text)
    for old, new in m.edits:
        text = plant(text, old, new, 1)
    return text


def grade(m, seed="5"):
    """(exit status, verdict of the mistake's check)."""
    folder = tempfile.mkdtemp(prefix="servelab-mistake-")
    try:
        for f in os.listdir(os.path.join(TOP, REFERENCES[m.lab])):
            if f.endswith((".c", ".cu", ".json")):
                shutil.copy(os.path.join(TOP, REFERENCES[m.lab], f), folder)
        with open(os.path.join(folder, m.file), "w", encoding="utf-8") as f:
            f.write(planted(m))
        p = subprocess.run([SERVELAB, "grade", m.lab, "--json", "--seed", seed, "--check", m.graded or m.check, "--", folder],
                           capture_output=True, stdin=subprocess.DEVNULL, timeout=600, check=False)
        return p.returncode, json.loads(p.stdout)
    finally:
        shutil.rmtree(folder)
