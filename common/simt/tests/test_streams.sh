#!/usr/bin/env bash
# test_streams.sh: streams.cu, fast and checked; its planted faults, each at its line; TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 4
bin=$(dirname "${SERVELAB:-build/bin/servelab}")
source=common/simt/tests/streams.cu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
check() { # check NAME: after a test
    [ $? = 0 ] && ok=ok || ok="not ok" failed=1
    n=$((n + 1))
    echo "$ok $n - $1"
}
for how in "" --check; do
    "$bin/simtcc" $how $source -o "$work/streams" && "$work/streams" >"$work/out" 2>"$work/said"
    check "streams.cu runs${how:+, checked}"
    while read -r line; do
        [ "${line#ok}" != "$line" ]
        check "${line#* - }${how:+, checked}"
    done < <(grep ' - ' "$work/out")
done
"$bin/simtcc" --check -DFAULTS $source -o "$work/faults" && "$work/faults" 2>"$work/said"
[ $? = 86 ]
check "faults end with status 86"
while IFS=: read -r line text; do
    grep -q "async-copy: $source:$line: .*${text##*//! }" "$work/said"
    check "found at line $line: the copy ${text##*//! } memory that the host changes"
done < <(grep -n '//! ' $source)
[ "$(grep -c error: "$work/said")" = 2 ]
check "and nothing else"
for fault in cudaMalloc:x cudaMalloc cudaMalloc:1:2:3; do
    SIMT_FAIL=$fault "$work/streams" >/dev/null 2>"$work/said"
    [ $? = 2 ] && grep -q "SIMT_FAIL=$fault is not CALL:N:ERROR" "$work/said"
    check "SIMT_FAIL=$fault is refused"
done
SIMT_FAIL=cudaMallocs:1:2 "$work/streams" >/dev/null 2>"$work/said"
[ $? = 2 ] && grep -q "SIMT_FAIL: cudaMallocs can't be made to fail; these can: .* cudaMalloc " "$work/said"
check "a call that never fails on request is refused"
echo "1..$n"
exit $failed
