#!/usr/bin/env bash
# test_other_kernels.sh: the kernels that this machine's own build doesn't use: the portable ones (no intrinsics, what an
# unknown machine gets) and AVX2's. Each is built apart and runs the tests against the double reference and the
# bit-for-bit invariance tests. Prints TAP.
# servelab-test: long
set -u
cd "$(dirname "$0")/../../../.." || exit 4
cc=${CC:-gcc}
out=build/other-kernels
sources="common/backend/cpu/*.c common/base/err.c common/base/utf8.c common/base/rng.c \
  common/base/compare.c common/model/tensor.c"
export CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-600}
n=0

result() { # result STATUS NAME
    n=$((n + 1))
    [ "$1" = 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

build() { # build NAME FLAGS...: objects and the two test programs
    local dir=$out/$1 s o
    shift
    rm -rf "$dir" && mkdir -p "$dir" # objects of an earlier tree would be linked too
    for s in $sources common/backend/cpu/tests/test_forward.c common/backend/cpu/tests/test_invariance.c; do
        o=$dir/$(basename "$s" .c).o
        "$cc" -Icommon -D_GNU_SOURCE -std=gnu17 -O2 -Wall -Wextra -Werror "$@" -c "$s" -o "$o" -pthread || return 1
    done
    for s in test_forward test_invariance; do
        "$cc" -pthread "$dir/$s.o" $(ls "$dir"/*.o | grep -v /test_) -lcheck -lsubunit -lrt -lm -o "$dir/$s" || return 1
    done
}

check() { # check NAME FLAGS...
    local name=$1
    shift
    if ! build "$name" "$@" >&2; then
        result 1 "$name kernels compile"
        return
    fi
    for t in test_forward test_invariance; do
        "$out/$name/$t" >"$out/$name/$t.tap" 2>&1
        local rc=$?
        grep '^not ok' "$out/$name/$t.tap" >&2
        result $rc "$name kernels: $t, $(grep -c '^ok' "$out/$name/$t.tap") tests"
    done
}

check portable -DSERVELAB_PORTABLE
if grep -qw avx2 /proc/cpuinfo 2>/dev/null && grep -qw f16c /proc/cpuinfo; then
    check avx2 -mavx2 -mfma -mf16c
else
    result 0 "AVX2 kernels # SKIP this machine has no AVX2"
fi
echo "1..$n"
