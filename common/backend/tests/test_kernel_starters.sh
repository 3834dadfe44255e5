#!/usr/bin/env bash
# test_kernel_starters.sh: the starters of lab 03: each compiles, by simtcc and by an installed nvcc, counts as not attempted,
# and holds nothing of the solution.
set -u
cd "$(dirname "$0")/../../.." || exit 4
simtcc=$(dirname "${SERVELAB:-build/bin/servelab}")/simtcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
report() { # report STATUS NAME [FILE to show]
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else
        failed=1
        echo "not ok $n - $2"
        [ $# -lt 3 ] || head -5 "$3" | sed 's/^/# /'
    fi
}

for f in solutions/03_kernels/*.cu; do
    name=$(basename "$f" .cu)
    starter=$work/$name.cu
    awk -f common/course/strip.awk "$f" >"$starter" 2>"$work/err" &&
        grep -qxF "    LAB_TODO_KERNEL(\"$name\");" "$starter" && [ "$(grep -c . "$starter")" -lt 20 ] &&
        ! grep -qE 'SOLUTION|threadIdx|__shared__' "$starter"
    report $? "$name: its starter has the signature, and counts as not attempted" "$starter"
done
"$simtcc" -shared -Icommon "$work"/*.cu -o "$work/starters.so" 2>"$work/err"
report $? "simtcc compiles the starters" "$work/err"
if command -v nvcc >/dev/null; then
    cat "$work"/*.cu >"$work/all.cuh" # one unit: each starter is only a signature
    nvcc -std=c++17 -Icommon -arch=sm_80 -x cu -cubin "$work/all.cuh" -o "$work/all.cubin" >"$work/err" 2>&1
    report $? "nvcc compiles the starters" "$work/err"
else
    n=$((n + 1))
    echo "ok $n - nvcc compiles the starters # SKIP no nvcc here"
fi
echo "1..$n"
exit $failed
