#!/usr/bin/env bash
# test_features.sh: features.cu under g++ and clang++, fast; and compiled by nvcc where it is installed.
set -u
cd "$(dirname "$0")/../../.." || exit 4
simtcc=$(dirname "${SERVELAB:-build/bin/servelab}")/simtcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0

for cxx in g++ clang++; do
    if ! "$simtcc" --cxx=$cxx common/simt/tests/features.cu -o "$work/features" 2>"$work/err"; then
        n=$((n + 1)) failed=1
        echo "not ok $n - features.cu compiles with $cxx"
        sed 's/^/# /' "$work/err" | head -5
        continue
    fi
    "$work/features" >"$work/out" 2>"$work/err" || failed=1
    while IFS= read -r line; do
        case $line in
        'ok '* | 'not ok '*)
            n=$((n + 1))
            printf '%s\n' "$line" | sed -E "s/ok [0-9]+ - /ok $n - $cxx: /"
            ;;
        '#'*) printf '%s\n' "$line" ;;
        esac
    done <"$work/out"
    grep -q '^1\.\.' "$work/out" || { n=$((n + 1)) failed=1; echo "not ok $n - $cxx: features ran to its end"; }
done

n=$((n + 1))
if ! command -v nvcc >/dev/null; then
    echo "ok $n - nvcc compiles features.cu # SKIP no nvcc here"
else
    for arch in sm_80 sm_90; do
        nvcc -std=c++17 -arch=$arch -c common/simt/tests/features.cu -o "$work/$arch.o" 2>>"$work/nvcc" || {
            echo "not ok $n - nvcc compiles features.cu for $arch"
            head -5 "$work/nvcc" | sed 's/^/# /'
            exit 1
        }
    done
    echo "ok $n - nvcc compiles features.cu for sm_80 and sm_90"
fi
echo "1..$n"
exit $failed
