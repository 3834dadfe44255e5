#!/usr/bin/env bash
# run_tests.sh TEST...: runs test programs and scripts, adds up their TAP lines, ends with
#   N passed, N failed, N skipped
#
# A test is a Check program, a test_*.sh or a test_*.py; each prints TAP on stdout ("ok 1 - name", "not ok 2 - name",
# "ok 3 - name # SKIP reason"). A test that prints no such line, dies, or exits non-zero without a "not ok" counts as
# one failure: a run without assertions is not a pass. A skip must be in .ci/allowed-skips (a line: extended regular
# expression for "TEST: name", tab, reason), or it counts as a failure too.
#
# Environment: TEST_TIMEOUT_S for one test program (default 900); TEST_FILTER, a regular expression on its path; PYTHON
# for the .py ones (default build/venv/bin/python).
# Logs are kept in build/test-logs.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 4
logs=build/test-logs
mkdir -p $logs
timeout_s=${TEST_TIMEOUT_S:-900}
filter=${TEST_FILTER:-.}
python=${PYTHON:-build/venv/bin/python}
[ -x "$python" ] || python=python3
export CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-120}

passed=0 failed=0 skipped=0
failures=()

allowed_skip() { # allowed_skip "TEST: name"
    [ -f .ci/allowed-skips ] || return 1
    while IFS=$'\t' read -r pattern reason; do
        case $pattern in '' | '#'*) continue ;; esac
        [ -n "$reason" ] && printf '%s' "$1" | grep -qE -- "$pattern" && return 0
    done <.ci/allowed-skips
    return 1
}

run_one() { # run_one TEST -> TAP in $log, status in $rc
    case $1 in
    *.py) timeout -k 5 "$timeout_s" "$python" "$1" ;;
    *.sh) timeout -k 5 "$timeout_s" bash "$1" ;;
    *) timeout -k 5 "$timeout_s" "$1" ;;
    esac >"$log" 2>"$log.err" </dev/null
    rc=$?
}

for t in "$@"; do
    printf '%s' "$t" | grep -qE -- "$filter" || continue
    name=${t#build/obj/*/}
    log=$logs/$(printf '%s' "$name" | tr / _).tap
    start=$(date +%s)
    run_one "$t"
    p=0 f=0 s=0
    while IFS= read -r line; do
        case $line in
        'ok '*'# SKIP'* | 'ok '*'# skip'*)
            if allowed_skip "$name: $line"; then
                s=$((s + 1))
            else
                f=$((f + 1))
                failures+=("$name: skip that .ci/allowed-skips doesn't list: $line")
            fi
            ;;
        'ok '*) p=$((p + 1)) ;;
        'not ok '*)
            f=$((f + 1))
            failures+=("$name: $line")
            ;;
        esac
    done <"$log"
    if [ $((p + f + s)) = 0 ]; then
        f=1
        failures+=("$name: ran no test (exit status $rc); see $log.err")
    elif [ $rc != 0 ] && [ $f = 0 ]; then
        f=1
        failures+=("$name: exit status $rc although every line says ok; see $log.err")
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '%-64s %4d passed %3d failed %3d skipped %4d s\n' "$name" $p $f $s $(($(date +%s) - start))
    [ $f = 0 ] || { grep '^not ok' "$log" | head -20; tail -5 "$log.err"; } | sed 's/^/    /'
done

if [ ${#failures[@]} -gt 0 ]; then
    echo
    echo "What failed (logs in $logs):"
    printf '  %s\n' "${failures[@]}"
fi
if [ $((passed + failed)) = 0 ]; then
    echo "no test ran"
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
