#!/usr/bin/env python3
"""test_hiding.py [NAME...]: nothing moves where simtcc --hooks=ir doesn't see it.

Each file of hiding/ is compiled as the kernel `copy` alone (--kernel=copy), linked with hiding.c and run. Its comment says
what must become of it, as `expect: ` and one of these, parted by | where compilers differ:
  refused: TEXT   simtcc or the compiler refuses it, with TEXT, and with the file's name and line
  found: KIND     the run ends with a finding of that kind
  counted         the output is right, and at least its bytes are counted as read and as written
  wrong           the output isn't right
TAP.
"""
# servelab-test: long
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from tap import COMPILERS, HERE, IR, SIMTCC, TOP, check_flags, finish, tap

BYTES = 5003 * 4  # of hiding.c's output


def outcome(path, work, harness):
    """What became of a file, in the words of `expect`."""
    name = os.path.basename(path)[:-3]
    built, program, report = (os.path.join(work, name + end) for end in (".o", "", ".json"))
    done = subprocess.run([SIMTCC] + check_flags(IR) + ["--kernel=copy", "-w", "-c", os.path.relpath(path, TOP), "-o", built],
                          capture_output=True, text=True, cwd=TOP)
    if done.returncode:
        placed = re.search(r"(%s\.cu|copy\.cu|hiding\.cuh|simt_atomic\.h):\d+:" % name, done.stderr)
        return "refused: " + (done.stderr if placed and done.returncode in (1, 2) else "WITHOUT A PLACE: " + done.stderr)
    done = subprocess.run([SIMTCC, "--check", built, harness, "-o", program], capture_output=True, text=True)
    if done.returncode:
        return "doesn't link: " + done.stderr[:300]
    ran = subprocess.run([program], capture_output=True, text=True, errors="replace", env=dict(os.environ, SIMT_REPORT=report))
    kinds = re.findall(r"simt: error: ([a-z-]+): ", ran.stderr)
    if ran.returncode == 86 and kinds:
        return "found: " + kinds[0]
    if ran.returncode == 1:
        return "wrong"
    if ran.returncode:
        return "found: crash" if "simt: " in ran.stderr else "exit status %d: %s" % (ran.returncode, ran.stderr[-300:])
    with open(report) as f:
        counts = next(k for k in json.load(f)["kernels"] if k["name"] == "copy")
    if counts["bytes_read"] >= BYTES and counts["bytes_written"] >= BYTES:
        return "counted"
    return "HIDDEN: %d bytes read, %d written" % (counts["bytes_read"], counts["bytes_written"])


def judge(path, work, harness):
    with open(path) as f:
        wanted = re.search(r"expect: (.*)", f.read()).group(1).split("|")
    became = outcome(path, work, harness)
    refused = [w[9:].strip() for w in wanted if w.startswith("refused")]
    good = became in wanted or (became.startswith("refused: ") and "WITHOUT" not in became and any(w in became for w in refused))
    return good, "%s: wanted %s, became %s" % (os.path.basename(path), "|".join(wanted), became[:250])


def refused_kernels(work):
    """The kernels of features.cu, each compiled as if for the grader: what is refused of them, and how many there are."""
    source, whole = "common/simt/tests/features.cu", os.path.join(work, "whole.o")
    with open(os.path.join(TOP, source)) as f:
        names = re.findall(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(", f.read())
    build = [SIMTCC] + check_flags(IR) + ["-w", "-I" + HERE, "-c", source, "-o"]
    subprocess.run(build + [whole], check=True, cwd=TOP)
    symbols = subprocess.run(["nm", whole], capture_output=True, text=True, check=True).stdout
    kernels = [s for s in re.findall(r" [TtW] (\S+)$", symbols, re.M) if any(re.match("_Z%d%s" % (len(n), n), s) for n in names)]

    def one(k):
        done = subprocess.run(build + [os.path.join(work, k[:100] + ".o"), "--kernel=" + k], capture_output=True, text=True, cwd=TOP)
        return k + ": " + done.stderr if done.returncode else None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [r for r in pool.map(one, kernels) if r], len(kernels)


def main(names):
    if IR not in COMPILERS:
        tap(True, "hidden accesses # SKIP clang and its libLLVM are not installed")
        return finish()
    paths = sorted(glob.glob(os.path.join(HERE, "hiding", "*.cu")))
    if names:
        paths = [p for p in paths if os.path.basename(p)[:-3] in names]
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        harness = os.path.join(work, "hiding.o")
        subprocess.run([SIMTCC, "--check", "-c", "common/simt/tests/hiding.c", "-o", harness], check=True, cwd=TOP)
        if not names:
            refused, n = refused_kernels(work)
            tap(not refused and n >= 20, "nothing is refused of the %d kernels of features.cu" % n, refused)
        for path, (good, note) in zip(paths, pool.map(lambda p: judge(p, work, harness), paths)):
            tap(good, os.path.basename(path)[:-3], [note])
    tap(bool(names) or len(paths) >= 60, "%d ways to hide an access" % len(paths))
    return finish()


sys.exit(main(sys.argv[1:]))
