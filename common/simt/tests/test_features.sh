#!/usr/bin/env bash
# test_features.sh: features.cu and syntax.cu under g++ and clang++, fast; compiled by nvcc where it is installed; a kernel in C, on ARM too.
# servelab-test: long
set -u
cd "$(dirname "$0")/../../.." || exit 4
simtcc=$(dirname "${SERVELAB:-build/bin/servelab}")/simtcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
export SIMT_TIME_LIMIT_S=0 # a slow machine fails no test; the test runner ends a test that hangs
compilers=
for cxx in g++ clang++; do
    if command -v $cxx >/dev/null; then
        compilers="$compilers $cxx"
    else
        n=$((n + 1))
        echo "ok $n - features.cu and syntax.cu under $cxx # SKIP $cxx is not installed"
    fi
done

for cxx in $compilers; do
    for file in features syntax; do
        if ! "$simtcc" --cxx=$cxx common/simt/tests/$file.cu -o "$work/program" 2>"$work/err"; then
            n=$((n + 1)) failed=1
            echo "not ok $n - $file.cu compiles with $cxx"
            sed 's/^/# /' "$work/err" | head -5
            continue
        fi
        "$work/program" >"$work/out" 2>"$work/err" || failed=1
        while IFS= read -r line; do
            case $line in
            'ok '* | 'not ok '*)
                n=$((n + 1))
                printf '%s\n' "$line" | sed -E "s/ok [0-9]+ - /ok $n - $cxx: /"
                ;;
            '#'*) printf '%s\n' "$line" ;;
            esac
        done <"$work/out"
        grep -q '^1\.\.' "$work/out" || { n=$((n + 1)) failed=1; echo "not ok $n - $cxx: $file ran to its end"; }
    done
done

# Check mode has no finding about the forms of syntax.cu.
for cxx in $compilers; do
    n=$((n + 1))
    if "$simtcc" --check --cxx=$cxx common/simt/tests/syntax.cu -o "$work/program" 2>"$work/err" &&
        "$work/program" >"$work/out" 2>>"$work/err" && ! grep -q '^not ok' "$work/out"; then
        echo "ok $n - $cxx: syntax.cu checked, without a finding"
    else
        failed=1
        echo "not ok $n - $cxx: syntax.cu checked, without a finding"
        cat "$work/err" "$work/out" | grep -v '^ok' | head -5 | sed 's/^/# /'
    fi
done

n=$((n + 1))
if ! command -v nvcc >/dev/null; then
    echo "ok $n - nvcc compiles features.cu # SKIP no nvcc here"
else
    for arch in sm_80 sm_90; do
        for file in features syntax; do
            nvcc -std=c++17 -arch=$arch -c common/simt/tests/$file.cu -o "$work/$arch.o" 2>>"$work/nvcc" || {
                echo "not ok $n - nvcc compiles $file.cu for $arch"
                grep -v warning "$work/nvcc" | head -5 | sed 's/^/# /'
                exit 1
            }
        done
    done
    echo "ok $n - nvcc compiles features.cu and syntax.cu for sm_80 and sm_90"
fi

# The fibers' switch is assembler: on 64-bit ARM too, under an emulator where there is one.
n=$((n + 1))
if "$simtcc" common/simt/tests/abi.c -o "$work/abi" 2>"$work/err" && "$work/abi" >"$work/out"; then
    echo "ok $n - a kernel in C alone"
else
    failed=1
    echo "not ok $n - a kernel in C alone"
    head -5 "$work/err" "$work/out" | sed 's/^/# /'
fi
n=$((n + 1))
runtime=$(ls common/simt/runtime/*.c | grep -v /check_)
if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
    echo "ok $n - the same on 64-bit ARM # SKIP no cross compiler or emulator here"
elif aarch64-linux-gnu-gcc -std=gnu17 -O2 -D_GNU_SOURCE -Icommon -Icommon/simt/include common/simt/tests/abi.c $runtime \
    -static -pthread -ldl -lm -o "$work/abi-arm" 2>"$work/err" && qemu-aarch64 "$work/abi-arm" >"$work/out"; then
    echo "ok $n - the same on 64-bit ARM"
else
    failed=1
    echo "not ok $n - the same on 64-bit ARM"
    grep -v warning "$work/err" | head -5 | cat - "$work/out" | sed 's/^/# /'
fi
echo "1..$n"
exit $failed
