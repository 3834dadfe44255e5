#!/usr/bin/env bash
# test_blas.sh: cuBLAS's calls against double, by our own loops and by the machine's BLAS, and in a checked program.
set -u
cd "$(dirname "$0")/../../.." || exit 4
simtcc=$(dirname "${SERVELAB:-build/bin/servelab}")/simtcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
export SIMT_TIME_LIMIT_S=0 # a slow machine fails no test; the test runner ends a test that hangs

run() { # run NAME VARIABLE=VALUE PROGRAM
    env "$2" "$3" >"$work/out" 2>"$work/err" || failed=1
    local seen=0
    while IFS= read -r line; do
        case $line in
        'ok '* | 'not ok '*)
            n=$((n + 1)) seen=1
            printf '%s\n' "$line" | sed -E "s/ok [0-9]+ - /ok $n - $1: /"
            ;;
        esac
    done <"$work/out"
    [ $seen = 1 ] || { n=$((n + 1)) failed=1; echo "not ok $n - $1 ran"; }
}

"$simtcc" common/simt/tests/blas.c -o "$work/blas" && "$simtcc" --check common/simt/tests/blas.c -o "$work/checked" || exit 1
run "own loops" SIMT_BLAS=none "$work/blas"
run "the machine's BLAS, if any" SIMT_BLAS= "$work/blas"
run "checked" SIMT_BLAS= "$work/checked"
echo "1..$n"
exit $failed
