"""grading.py: what the tests test_grade*.py share: running `servelab grade`, folders to hand in, and
the TAP of a file of tests. Only the standard library."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

from plant import plant

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
REFERENCE = os.path.join(TOP, "solutions/01_request_record")
CODE = ["intervals.c", "classify.c", "percentile.c", "slo.c"]
DATA = ["record.json", "objective.json"]
QUICK = "slo.percentile_rank,slo.strict,intervals.rounding,quality.truncation"

os.chdir(TOP)
TMP = tempfile.mkdtemp(prefix="servelab-test-")
os.chmod(TMP, 0o755)
WORK = os.path.join(TMP, "work")  # where the grader makes its folders, so that leftovers are seen
os.mkdir(WORK)
os.chmod(WORK, 0o1777)


def run(*args, env=None, **kw):
    full = {**os.environ, "TMPDIR": WORK, **(env or {})}
    return subprocess.run([SERVELAB, "grade", *args], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=300, env=full, **kw)


def grade(folder, *args, **kw):
    """JSON verdict of a run with a practice seed."""
    p = run("01", "--json", "--seed", "11", *args, "--", folder, **kw)
    assert p.stdout, (p.returncode, p.stderr)
    v = json.loads(p.stdout.decode("utf-8"))
    assert "error" in v or v["exit_status"] == p.returncode, (v.get("exit_status"), p.returncode)
    return v


def submission(name, **replaced):
    """A copy of the reference; intervals_c="text" replaces a file, None removes it."""
    folder = os.path.join(TMP, name)
    os.mkdir(folder)
    for f in CODE + DATA:
        shutil.copy(os.path.join(REFERENCE, f), folder)
    for key, text in replaced.items():
        path = os.path.join(folder, key.replace("_c", ".c").replace("_json", ".json"))
        os.unlink(path)
        if text is not None:
            with open(path, "wb") as f:
                f.write(text if isinstance(text, bytes) else text.encode())
    return folder


def reference(file):
    with open(os.path.join(REFERENCE, file), encoding="utf-8") as f:
        return f.read()


def check(v, name):
    return next(c for c in v["checks"] if c["id"] == name)


def on_top(text, lines):
    """percentile.c with more lines after its first include."""
    include = '#include "objective/percentile.h"\n'
    return plant(text, include, include + lines, 1)


def wrong_percentile():
    """Interpolates nothing, but rounds the rank down."""
    return plant(reference("percentile.c"), " + WHOLE - 1) / WHOLE", ") / WHOLE + 1")


def main(tests):
    """Runs the functions test_* of a module's globals(), or those whose name has argv[1] in it."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [(n, f) for n, f in tests.items() if n.startswith("test_") and callable(f) and wanted in n]
    failed = 0
    for i, (name, f) in enumerate(chosen + [("test_nothing_is_left_behind", nothing_is_left)]):
        try:
            f()
            print(f"ok {i + 1} - {name[5:]}", flush=True)
        except Exception:  # every failure is a line of the report
            failed += 1
            traceback.print_exc()
            print(f"not ok {i + 1} - {name[5:]}", flush=True)
    print(f"1..{len(chosen) + 1}")
    shutil.rmtree(TMP, ignore_errors=True)
    return 1 if failed else 0


def nothing_is_left():
    assert os.listdir(WORK) == [], os.listdir(WORK)
