"""tap.py: what the tests of simt share: where simtcc is, which compilers there are, lines of TAP."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
SIMTCC = os.path.join(os.path.dirname(os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))), "simtcc")
IR = "clang++ with --hooks=ir"
COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]
if "clang++" in COMPILERS and not subprocess.run([SIMTCC, "--check", "--hooks=ir", "--ready"], capture_output=True).returncode:
    COMPILERS.append(IR)
count = failed = 0
os.environ["SIMT_TIME_LIMIT_S"] = "0"  # a slow machine fails no test; the test runner ends a test that hangs


def tap(good, name, notes=(), most=12):
    global count, failed
    count += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", count, name))
    for note in list(notes)[:most] if not good else ():
        print("# " + str(note)[:300])
    sys.stdout.flush()


def skip_missing_compilers(what):
    for compiler in ("g++", "clang++", IR):
        if compiler not in COMPILERS:
            tap(True, "%s under %s # SKIP %s is not installed" % (what, compiler, compiler.split()[0]))


def check_flags(compiler, check=True):
    """simtcc's options for check mode under this compiler; IR: simtcc's own hooks in clang's bitcode."""
    hooks = ["--hooks=ir"] if compiler == IR and check else []
    return ["--cxx=" + compiler.split()[0]] + ["--check"] * check + hooks


def finish():
    """Prints the plan; the exit status."""
    print("1..%d" % count)
    return failed != 0
