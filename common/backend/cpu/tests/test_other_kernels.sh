#!/usr/bin/env bash
# test_other_kernels.sh: the kernels that this machine's own build doesn't use: the portable ones (no intrinsics, what an
# unknown machine gets) and those for AVX2 and AVX-512, with and without integer and bfloat16 products. Each is built
# apart and runs the tests against the double reference, the bit-for-bit invariance tests and those of the packed
# products. Prints TAP.
# servelab-test: long
set -u
cd "$(dirname "$0")/../../../.." || exit 4
cc=${CC:-gcc}
out=build/other-kernels
export CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-600}
n=0

result() { # result STATUS NAME
    n=$((n + 1))
    [ "$1" = 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

compile() { # compile FOLDER FLAGS... -- FILES: objects of an earlier tree go, because they would be linked too
    local dir=$1 flags=() s
    shift
    rm -rf "$dir" && mkdir -p "$dir"
    while [ "$1" != -- ]; do flags+=("$1") && shift; done
    shift
    for s; do
        "$cc" -Icommon -D_GNU_SOURCE -std=gnu17 -O2 -Wall -Wextra -Werror "${flags[@]}" -c "$s" \
            -o "$dir/$(basename "$s" .c).o" -pthread || return 1
    done
}

build() { # build NAME FLAGS...: the backend's objects and the test programs
    local dir=$out/$1 s
    shift
    compile "$dir" "$@" -- common/backend/cpu/*.c common/backend/limits.c common/backend/cpu/tests/test_{forward,invariance,kv,packed,packed_bf16}.c || return 1
    for s in test_forward test_invariance test_kv test_packed test_packed_bf16; do
        "$cc" -pthread "$dir/$s.o" $(ls "$dir"/*.o | grep -v /test_) "$out"/rest/*.o -lcjson -lpcre2-8 -lcheck -lsubunit \
            -lrt -lm -o "$dir/$s" || return 1
    done
}

check() { # check NAME FLAGS...
    local name=$1
    shift
    if ! build "$name" "$@" >&2; then
        result 1 "$name kernels compile"
        return
    fi
    for t in test_forward test_invariance test_kv test_packed test_packed_bf16; do
        "$out/$name/$t" >"$out/$name/$t.tap" 2>&1
        local rc=$?
        grep '^not ok' "$out/$name/$t.tap" >&2
        result $rc "$name kernels: $t, $(grep -c '^ok' "$out/$name/$t.tap") tests"
    done
}

check_on() { # check_on "CPU FLAGS" NAME FLAGS...: where /proc/cpuinfo has them all
    local f
    for f in $1; do
        if ! grep -qw "$f" /proc/cpuinfo 2>/dev/null; then
            result 0 "$2 kernels # SKIP this machine has no $f"
            return
        fi
    done
    shift
    check "$@"
}

compile $out/rest -- common/base/*.c common/model/*.c >&2 || echo "what every kernel is linked with doesn't compile" >&2
check portable -DSERVELAB_PORTABLE
check_on "avx2 f16c" avx2 -mavx2 -mfma -mf16c
check_on "avx2 f16c avx_vnni" avxvnni -mavx2 -mfma -mf16c -mavxvnni
check_on "avx512f avx512bw avx512dq avx512vl" avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c
check_on "avx512f avx512bw avx512dq avx512vl avx512_bf16" avx512bf16 -mavx512f -mavx512bw -mavx512dq -mavx512vl \
    -mavx512bf16 -mfma -mf16c
echo "1..$n"
