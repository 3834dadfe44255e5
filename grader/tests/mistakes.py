"""mistakes.py: twenty usual mistakes, planted one by one into the references: what each is, the check that it must lose,
and the words of the message that lead to the cause. test_mistakes.py asks for them; print_mistakes.py prints the messages
for a blind reading. grader/README.md has the table."""

import collections
import json
import os
import re
import shutil
import subprocess
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
REFERENCES = {"01": "solutions/01_request_record", "02": "solutions/02_queue_sim", "03": "solutions/03_kernels"}

# edits: (old, new) in the file, each applied once. says: parts of the check's text, all of which must be there.
Mistake = collections.namedtuple("Mistake", "name lab file edits check says")

MISTAKES = [
    Mistake("stamps swapped", "01", "intervals.c",
            [("interval_between(r, accepted, record_event(r, EV_REQUEST_ADMITTED))",
              "interval_between(r, record_event(r, EV_REQUEST_ADMITTED), accepted)")],
            "intervals.queue_delay", ["start and end are swapped"]),
    Mistake("tokens instead of gaps", "01", "intervals.c",
            [("(int64_t)r->workload.output_tokens - 1", "(int64_t)r->workload.output_tokens"),
             ("if (steps < 1) return absent", "if (steps < 2) return absent")],
            "intervals.tpot", ["divided by the number of tokens"]),
    Mistake("local never written, C", "01", "intervals.c",
            [("size_t n_open = 0, n_pairs = 0;", "size_t n_open = 0, n_pairs;")],
            "intervals.gpu_execution", ["n_pairs", "uninitialized"]),
    Mistake("array never written, kernel", "03", "gemv.cu",
            [("float sum[ROWS] = {0, 0, 0, 0};", "float sum[ROWS];")],
            "quality.gemv", ["gemv.cu:", "'sum", "is read before anything was written to it"]),
]


def said(verdict, check):
    """Everything that the learner reads about a check."""
    c = next(c for c in verdict["checks"] if c["id"] == check)
    parts = [c.get(k) for k in ("message", "kind", "input", "got", "want")]
    return "\n".join(p for p in parts + [verdict.get("warnings")] if p)


def planted(m):
    """The text of the file with the mistake in it."""
    with open(os.path.join(TOP, REFERENCES[m.lab], m.file), encoding="utf-8") as f:
        text = f.read()
    for old, new in m.edits:
        assert text.count(old) == 1, f"{m.name}: {m.file} has {text.count(old)} times {old!r}"
        text = text.replace(old, new)
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
        p = subprocess.run([SERVELAB, "grade", m.lab, "--json", "--seed", seed, "--check", m.check, "--", folder],
                           capture_output=True, stdin=subprocess.DEVNULL, timeout=600, check=False)
        return p.returncode, json.loads(p.stdout)
    finally:
        shutil.rmtree(folder)
