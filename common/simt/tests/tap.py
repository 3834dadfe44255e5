"""tap.py: what these tests share: where simtcc stands, and lines of TAP."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
SIMTCC = os.path.join(os.path.dirname(os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))), "simtcc")
count = failed = 0


def tap(good, name, notes=(), most=12):
    global count, failed
    count += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", count, name))
    for note in list(notes)[:most] if not good else ():
        print("# " + str(note)[:300])
    sys.stdout.flush()


def finish():
    """Prints the plan; the exit status."""
    print("1..%d" % count)
    return failed != 0
