#!/usr/bin/env bash
# test_cub.sh: CUB's primitives (cub.cu) under g++ and clang++, fast, checked and with hooks in clang's bitcode; their counts; nvcc
# compiles the same file with its own CUB. That a missing barrier between two of them is found is in faults_races.cu.
# servelab-test: long
set -u
cd "$(dirname "$0")/../../.." || exit 4
simtcc=$(dirname "${SERVELAB:-build/bin/servelab}")/simtcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
export SIMT_TIME_LIMIT_S=0 # a slow machine fails no test; the test runner ends a test that hangs
report() { # report STATUS NAME [FILE to show]
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else
        failed=1
        echo "not ok $n - $2"
        [ $# -lt 3 ] || grep -v '^ok' "$3" | head -5 | sed 's/^/# /'
    fi
}

for cxx in g++ clang++; do
    for mode in "" "--check" "--check --hooks=ir"; do
        name="cub.cu under $cxx${mode:+, $mode}"
        if [ "$mode" = "--check --hooks=ir" ]; then
            [ $cxx = clang++ ] && "$simtcc" --check --hooks=ir --ready >/dev/null 2>&1 || continue
        fi
        if ! command -v $cxx >/dev/null; then
            n=$((n + 1))
            echo "ok $n - $name # SKIP $cxx is not installed"
            continue
        fi
        # shellcheck disable=SC2086
        "$simtcc" --cxx=$cxx $mode common/simt/tests/cub.cu -o "$work/program" 2>"$work/out" &&
            SIMT_REPORT=$work/report.json "$work/program" >"$work/out" 2>&1 && ! grep -q '^not ok' "$work/out" && grep -q '^1\.\.21$' "$work/out"
        report $? "$name" "$work/out"
    done
done

# Blocks of 1, 2, 32 and 4 warps: in a reduction of integers each warp writes a word and thread 0 reads those of the other warps.
"$simtcc" --check common/simt/tests/cub.cu -o "$work/program" && SIMT_REPORT=$work/report.json "$work/program" >/dev/null 2>&1
python3 - "$work/report.json" >"$work/out" 2>&1 <<'END'
import json, sys
text = open("common/simt/tests/cub.cu").read().split("\n")
kernel = next(k for k in json.load(open(sys.argv[1]))["kernels"] if k["name"].startswith("block_reduce"))
line = next(l for l in kernel["lines"] if "Numbers(numbers).Sum(items)" in text[l["line"] - 1])
got = [line["shared_store_requests"], line["shared_load_requests"], line["barriers"], kernel["barriers"]]
assert got == [1 + 2 + 32 + 4, 0 + 1 + 31 + 3, 4, 4 * 6], got
END
report $? "BlockReduce is counted: a word a warp, a barrier a call" "$work/out"

n=$((n + 1))
if ! command -v nvcc >/dev/null; then
    echo "ok $n - nvcc compiles cub.cu with its own CUB # SKIP no nvcc here"
elif nvcc -std=c++17 -arch=sm_80 -c common/simt/tests/cub.cu -o "$work/cub.o" 2>"$work/err"; then
    echo "ok $n - nvcc compiles cub.cu with its own CUB"
else
    failed=1
    echo "not ok $n - nvcc compiles cub.cu with its own CUB"
    head -5 "$work/err" | sed 's/^/# /'
fi
echo "1..$n"
exit $failed
