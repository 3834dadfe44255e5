#!/usr/bin/env bash
# soak.sh TEST...: repeats tests, quiet and on a busy machine, to find those that depend on the machine's speed.
#
# Each test that is marked `servelab-test: waits` runs N times (50) each way, alone; then all given tests together run
# SUITES times (4) each way. The two ways: nothing beside it, and with BUSY (4) endless loops beside it.
#
# Results are appended to build/soak.log, one line a run: commit, way, test, number of the run, seconds, result. Runs that
# are there for this commit aren't repeated, so an interrupted soak goes on where it was. Logs of failed runs are kept in
# build/soak-failures. Ends with a table and the line "N passed, N failed, N skipped", which counts runs.
set -u
cd "$(dirname "$0")/../.." || exit 4
N=${N:-50} SUITES=${SUITES:-4} BUSY=${BUSY:-4}
log=build/soak.log failures=build/soak-failures
commit=$(git rev-parse --short HEAD 2>/dev/null || echo none)
mkdir -p $failures
touch $log
waits=() loops=() runner=''
for t in "$@"; do
    source=${t#build/obj/*/}
    case $source in *.py | *.sh) ;; *) source=$source.c ;; esac
    head -40 "$source" | grep -q 'servelab-test:.*waits' && waits+=("$t")
done

quiet() {
    local pid
    for pid in "${loops[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
    loops=()
}
busy() {
    local i
    for ((i = 0; i < BUSY; i++)); do
        ( # ends with this script, however that ends
            trap - EXIT INT TERM
            while kill -0 $$ 2>/dev/null; do for ((k = 0; k < 100000; k++)); do :; done; done
        ) &
        loops+=($!)
    done
}
leave() { # leave STATUS
    trap - EXIT INT TERM
    [ -z "$runner" ] || { kill -TERM "$runner" 2>/dev/null && wait "$runner"; }
    quiet
    exit "$1"
}
trap 'leave $?' EXIT
trap 'leave 130' INT
trap 'leave 143' TERM

run() { # run WAY NAME NUMBER TEST...: one run of the runner, unless the log has it
    local way=$1 name=$2 number=$3 began=$SECONDS last
    shift 3
    grep -qF "$commit	$way	$name	$number	" $log && return
    TEST_LOGS=build/soak-logs TEST_FILTER='' common/testing/run_tests.py "$@" >build/soak.out 2>&1 &
    runner=$!
    wait $runner
    runner=''
    last=$(tail -1 build/soak.out)
    if [[ $last != *" passed, 0 failed, "* ]]; then
        echo "$way, run $number of $name: $last"
        mkdir -p "$failures/$way-$number"
        cp build/soak.out "$failures/$way-$number/$(tr / _ <<<"$name").out"
        [ $# -gt 1 ] || cp build/soak-logs/"$(tr / _ <<<"$name")".tap* "$failures/$way-$number/"
    fi
    printf '%s\t%s\t%s\t%d\t%d\t%s\n' "$commit" "$way" "$name" "$number" $((SECONDS - began)) "$last" >>$log
}

echo "${#waits[@]} tests that wait, $N times each way; $# tests together, $SUITES times each way; commit $commit"
for way in quiet busy; do
    $way
    for t in "${waits[@]}"; do
        for ((k = 1; k <= N; k++)); do run $way "${t#build/obj/*/}" "$k" "$t"; done
        echo "$way: ${t#build/obj/*/} has run $N times"
    done
    for ((k = 1; k <= SUITES; k++)); do run $way "all $# tests" "$k" "$@"; done
done
quiet

awk -F '\t' -v commit="$commit" '
    $1 == commit { n[$3, $2]++; names[$3] }
    $1 == commit && $6 !~ / passed, 0 failed, / { bad[$3, $2]++; failed++ }
    $1 == commit { runs++ }
    END {
        printf "\n%-60s %18s %18s\n", "", "quiet: failed/runs", "busy: failed/runs"
        for (name in names)
            printf "%-60s %11d / %4d %11d / %4d\n", name, bad[name, "quiet"], n[name, "quiet"], bad[name, "busy"],
                n[name, "busy"] | "sort"
        close("sort")
        printf "%d passed, %d failed, 0 skipped\n", runs - failed, failed
        exit failed > 0
    }' $log
