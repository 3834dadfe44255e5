#!/usr/bin/env bash
# test_kernels_nvcc.sh: nvcc compiles every version of every kernel without a warning; the fast ones for sm_80 and sm_90,
# where they spill no register and keep nothing in local memory (ptxas's resource report). The steps are compiled for
# sm_80 alone, which takes half the time; STEPS_TOO=1 compiles them for both. Needs no GPU.
# servelab-test: long
set -u
cd "$(dirname "$0")/../../.." || exit 4
lab=solutions/03_kernels
if ! command -v nvcc >/dev/null; then
    echo "ok 1 - nvcc compiles the kernels # SKIP no nvcc here"
    echo "1..1"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export work

compile() { # compile FILE.cu: leaves NAME.log, and NAME.ok when nvcc was content
    local name later=(-gencode arch=compute_90,code=sm_90)
    name=$(basename "$1" .cu)
    case $1 in */steps/*) [ "${STEPS_TOO:-0}" = 1 ] || later=() ;; esac
    nvcc -std=c++17 -Icommon -gencode arch=compute_80,code=sm_80 "${later[@]}" -Xptxas -v \
        -fatbin "$1" -o "$work/$name.fatbin" >"$work/$name.log" 2>&1 && touch "$work/$name.ok"
}
export -f compile
files=("$lab"/*.cu "$lab"/steps/*.cu)
printf '%s\n' "${files[@]}" | xargs -P 2 -I{} bash -c 'compile {}'

n=0 failed=0
for f in "${files[@]}"; do
    name=$(basename "$f" .cu) why=
    log=$work/$name.log
    n=$((n + 1))
    fast=1 archs=2
    case $f in */steps/*) fast=0 && { [ "${STEPS_TOO:-0}" = 1 ] || archs=1; } ;; esac
    if [ ! -f "$work/$name.ok" ]; then
        why="doesn't compile: $(grep -m1 error "$log")"
    elif grep -qi warning "$log"; then
        why=$(grep -m1 -i warning "$log")
    elif [ "$(grep -c 'Compiling entry function' "$log")" != $archs ]; then
        why="one kernel for each architecture was expected"
    elif [ $fast = 1 ] &&
        [ "$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$log")" != 2 ]; then
        why=$(grep -m1 -v ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' <(grep 'stack frame' "$log"))
    fi
    if [ -n "$why" ]; then
        failed=1
        echo "not ok $n - $name: $why"
    else
        echo "ok $n - $name, for $archs architectures"
    fi
done
echo "1..$n"
exit $failed
