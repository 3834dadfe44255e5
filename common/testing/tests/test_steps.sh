#!/usr/bin/env bash
# test_steps.sh: steps.sh adds up what its steps say, goes on after a failure, and knows an allowed skip. Prints TAP.
set -u
steps=$(cd "$(dirname "$0")/.." && pwd)/steps.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/.ci"
printf 'step odd: .*# SKIP\tfew have one\n' >"$work/.ci/allowed-skips"
n=0 failed=0
check() { # check NAME WANTED_STATUS WANTED_LAST_LINE STEPS: a script of steps
    n=$((n + 1))
    (cd "$work" && bash -c "set -u; . '$steps'; $4; steps_end" >out 2>&1)
    local rc=$?
    if [ $rc = "$2" ] && [ "$(tail -1 "$work/out")" = "$3" ]; then echo "ok $n - $1"; else
        failed=1
        echo "not ok $n - $1: exit status $rc"
        sed 's/^/# /' "$work/out"
    fi
}
check 'a step that says no numbers counts as one' 0 '1 passed, 0 failed, 0 skipped' 'step a true'
check 'a failed step fails, and the next one runs' 1 '1 passed, 1 failed, 0 skipped' 'step a false; step b true'
check 'a step adds the numbers of its last line' 0 '8 passed, 0 failed, 2 skipped' \
    'step a echo 7 passed, 0 failed, 2 skipped; step b true'
check 'numbers without a failure but a failed status are a failure' 1 '7 passed, 1 failed, 0 skipped' \
    'step a bash -c "echo 7 passed, 0 failed, 0 skipped; exit 3"'
check 'a line of make behind the numbers hides nothing' 1 '7 passed, 2 failed, 0 skipped' \
    'step a bash -c "echo 7 passed, 2 failed, 0 skipped; echo make: *** Error 1; exit 2"'
check 'an allowed skip' 0 '1 passed, 0 failed, 1 skipped' 'step odd bash -c "echo none here; exit 77"; step b true'
check 'a skip that is not allowed' 1 '0 passed, 1 failed, 0 skipped' 'step a bash -c "echo none here; exit 77"'
check 'ONLY chooses a step' 0 '1 passed, 0 failed, 0 skipped' 'ONLY=b; step a false; step b true'
check 'ONLY names no step' 1 '0 passed, 1 failed, 0 skipped' 'ONLY=c; step a false; step b true'
check 'the table has every step with its time' 0 '2 passed, 0 failed, 0 skipped' 'step one true; step two true'
grep -qE '^one +1 passed +0 failed +0 skipped +0 min 0. s$' "$work/out" && grep -q '^two ' "$work/out"
rc=$?
n=$((n + 1))
[ $rc = 0 ] && echo "ok $n - its lines" || { failed=1; echo "not ok $n - its lines"; sed 's/^/# /' "$work/out"; }
echo "1..$n"
exit $failed
