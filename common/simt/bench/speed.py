#!/usr/bin/env python3
"""speed.py: times speed.cu, fast and checked, in CPU time of one thread; see SPEED.md.

  common/simt/bench/speed.py [--other FOLDER] [--runs 5]

--other FOLDER: another simtcc (FOLDER/simtcc, --check), measured in turn in the same run; a ratio is printed.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
SOURCE = os.path.join(TOP, "common/simt/bench/speed.cu")
# kernel, size, checked, what one unit of work is, units in the two runs
CASES = [("vector_add", 1 << 24, False, "thread", 2 << 24), ("block_sums", 1 << 21, False, "thread-barrier", (2 << 21) * 9),
         ("warp_sums", 1 << 21, False, "shuffle", (2 << 21) * 5), ("product", 512, False, "multiply-add", 2 * 512 ** 3),
         ("product_tiles", 512, False, "multiply-add", 2 * 512 ** 3),
         ("vector_add", 1 << 21, True, "access", (2 << 21) * 3),
         ("product", 192, True, "access", 4 * 192 ** 3), ("product_tiles", 192, True, "access", 4 * 192 ** 3 * 33 // 32)]


def cpu_s(command, threads="1"):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, SIMT_THREADS=threads, SIMT_QUIET="1"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    compilers = [os.path.join(TOP, "build/bin/simtcc")] + ([os.path.join(args.other, "simtcc")] if args.other else [])
    with tempfile.TemporaryDirectory() as work:
        for i, compiler in enumerate(compilers):
            for check in (False, True):
                subprocess.run([compiler] + ["--check"] * check + [SOURCE, "-o", os.path.join(work, "%d%d" % (i, check))],
                               check=True)
        print("%-14s %9s %-8s %12s  %s" % ("kernel", "size", "mode", "ns per unit", "unit (median of %d, least-most)" % args.runs))
        for kernel, n, check, unit, units in CASES:
            times = [[] for _ in compilers]
            for _ in range(args.runs):
                for i in range(len(compilers)):
                    program = os.path.join(work, "%d%d" % (i, check))
                    idle = cpu_s([program, kernel, "32"])
                    times[i].append((cpu_s([program, kernel, str(n)]) - idle) / units * 1e9)
            m = [statistics.median(t) for t in times]
            print("%-14s %9d %-8s %12.2f  %s (%.2f-%.2f)%s" % (kernel, n, "checked" if check else "fast", m[0], unit, min(times[0]),
                  max(times[0]), "; other %.2f, ratio %.2f" % (m[1], m[0] / m[1]) if len(m) > 1 else ""))
            sys.stdout.flush()


main()
