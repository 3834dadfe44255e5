#!/usr/bin/env bash
# test_cuda_kernels.sh: this folder's kernels alone, against references: a prompt's attention on tensor cores, and products with
# quantised matrices; and checked, where simt sees every access, race and read of what was never written.
set -u
cd "$(dirname "$0")/../../../.." || exit 4
simtcc=$(dirname "${SERVELAB:-build/bin/servelab}")/simtcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMT_TIME_LIMIT_S=0 # a slow machine fails no test; the test runner ends a test that hangs
here=common/backend/cuda
prompt="$here/tests/prompt.cu $here/prompt.cu $here/paged.cu solutions/03_kernels/attention_prefill.cu"
quant="$here/tests/quant.cu $here/quant.cu"
n=0 failed=0
run() { # run NAME CASES FILES FLAG..
    local name=$1 cases=$2 files=$3 seen=0
    shift 3
    "$simtcc" "$@" -std=c++17 -O2 -Icommon $files -o "$work/run" >"$work/err" 2>&1 && "$work/run" "$cases" >"$work/out" 2>>"$work/err"
    local status=$?
    while IFS= read -r line; do
        case $line in
        'ok '* | 'not ok '*)
            n=$((n + 1)) seen=$((seen + 1))
            printf '%s\n' "$line" | sed -E "s/ok [0-9]+ - /ok $n - $name: /"
            ;;
        esac
    done <"$work/out"
    n=$((n + 1))
    if [ $status = 0 ] && [ $seen = "$cases" ]; then echo "ok $n - $name: all $cases ran, and no finding"; else
        failed=1
        echo "not ok $n - $name: status $status, $seen of $cases ran"
        tail -5 "$work/err" | sed 's/^/# /'
    fi
}
run "prompt" 35 "$prompt"
run "prompt, checked" 8 "$prompt" --check
run "quantised" 24 "$quant"
run "quantised, checked" 9 "$quant" --check
echo "1..$n"
exit $failed
