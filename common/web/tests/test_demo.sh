#!/usr/bin/env bash
# test_demo.sh: `make demo` as a user sees it: it leaves a plausible record, reports failures, and leaves no process.
# SERVELAB_TEST_MODEL names another GGUF file than the embedded one.
# servelab-test: waits
set -u
cd "$(dirname "$0")/../../.." || exit 4
export SERVELAB=${SERVELAB:-$PWD/build/bin/servelab}
export SERVELAB_TINY=${SERVELAB_TEST_MODEL:-common/model/embedded/servelab-tiny.gguf}
work=$(mktemp -d "${TMPDIR:-/tmp}/servelab-demo-XXXXXX")
chmod 711 "$work" # the grader's sandbox runs as nobody, below it
export TMPDIR=$work OUT=$work/out # both are in the command line of each of the demo's processes
trap 'rm -rf "$work"' EXIT
n=0 bad=0
check() { # check NAME RESULT [WHY]
    n=$((n + 1))
    [ "$2" = 0 ] && { echo "ok $n - $1"; return; }
    bad=1
    echo "not ok $n - $1${3:+: $3}"
    echo "rerun: bash common/web/tests/test_demo.sh" >&2
    cat "$work/said" >&2
}
demo() { LOAD_S=1 common/web/demo.sh "$@" >"$work/said" 2>&1 </dev/null; }
left() { # who of the demo's processes still runs, zombies aside
    local p
    for p in /proc/[0-9]*; do
        tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -q -- "$work" && [ "${p#/proc/}" != $$ ] && echo "${p#/proc/}"
    done
}
none_left() { # a process that was asked to end needs a moment
    local until=$((SECONDS + 60))
    while [ -n "$(left)" ]; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.1
    done
}
has() { grep -qsF -- "$1" "$work/said"; }

demo "$work/no-such.gguf"
rc=$?
[ $rc = 2 ] && has "no model $work/no-such.gguf"
check "a model that isn't there: exit status 2, named" $? "exit status $rc"

python=$(python3 -c 'import sys; print(sys.executable)')
PATH=$work "$python" common/web/drive.py --url http://127.0.0.1:9/ --out "$work/x" >"$work/said" 2>&1
rc=$?
[ $rc = 5 ] && has "apt-get install chromium"
check "no browser: drive.py exits 5 and says what brings one" $? "exit status $rc"

# A machine that is busy now may make a load's run invalid, which is tested below; here every run counts as valid.
cat >"$work/valid" <<'END'
#!/bin/sh
[ "$1" = load ] || exec "$REAL" "$@" # a signal for the server must reach it
said=$("$REAL" "$@")
rc=$?
[ $rc = 1 ] && case $said in *"  INVALID: "*) rc=0 ;; esac
printf '%s\n' "$said" | grep -v '^  INVALID: '
exit $rc
END
chmod 755 "$work/valid"
export REAL=$SERVELAB

SERVELAB=$work/valid BROWSER=none demo
rc=$?
[ $rc = 0 ] && has "built-in client" && tr -d ' ' <"$OUT/record.json" | grep -q '"source":"client"'
check "without a browser the built-in client takes its place, and the output says so" $? "exit status $rc"

! has "200.00 requests/s over 20 ms" && ! has "363.64 requests/s over 11 ms" && has "K knee" && has "highest load within" &&
    has "$OUT/sweep/curve.svg" && grep -q "</svg>" "$OUT/sweep/curve.svg"
check "one curve, with its picture, and not the two tables that lab 02 asks for" $?

cat >"$work/invalid" <<'END'
#!/bin/sh
[ "$1" = load ] || exec "$REAL" "$@" # a signal for the server must reach it
"$REAL" "$@"
rc=$?
[ $rc -le 1 ] && echo "  INVALID: made so" && rc=1
exit $rc
END
chmod +x "$work/invalid"
SERVELAB=$work/invalid BROWSER=none demo
rc=$?
[ $rc = 1 ] && has "try again: made so" && [ -s "$OUT/load-7/run.json" ] && [ -s "$OUT/report/report.html" ] && has "Was the objective met?"
check "an invalid run is named, the other one is made too, and the exit status is 1" $? "exit status $rc"

if command -v chromedriver >/dev/null; then
    SERVELAB=$work/valid demo
    rc=$?
    [ $rc = 0 ] && "$SERVELAB" record check "$OUT/record.json" >"$work/checked" &&
        tr -d ' ' <"$OUT/record.json" | grep -q '"source":"browser"'
    check "the demo leaves a valid record from a browser" $? "exit status $rc"
    grep -q 'plausible *yes' "$work/checked"
    check "the record is plausible" $? "$(grep plausible "$work/checked")"
    has "What the person experienced" && has "client_ttft" && has "queue_delay" && has "100 of 100 points" &&
        has "$OUT/record.json"
    check "it prints intervals, sentence, rubric, and where the record is" $?
    none_left
    check "no process is left behind after it" $? "$(left | tr '\n' ' ')"

    # a server that reads the prompt until it is ended, so that the demo can't be over before it is looked at
    cat >"$work/held" <<EOF
#!/bin/sh
while [ \$# -gt 0 ]; do [ "\$1" = --port-file ] && file=\$2; shift; done
exec "$python" "$PWD/common/web/tests/mock_server.py" --hold --port 0 --port-file "\$file"
EOF
    chmod 755 "$work/held"
    rm -f "$work/said"
    LOAD_S=1 SERVELAB=$work/held common/web/demo.sh >"$work/said" 2>&1 </dev/null & # not demo(): the signal below goes to this process
    pid=$!
    until has "The server is reading" || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
    has "The server is reading"
    check "progress shows while the prompt is read" $?
    kill -TERM $pid
    wait $pid
    rc=$?
    [ $rc = 143 ] && none_left
    check "ended in the middle: exit status 143, server and browser are gone" $? "exit status $rc, left: $(left | xargs)"
else
    for what in "the demo leaves a valid record from a browser" "no process is left behind after it"; do
        n=$((n + 1))
        echo "ok $n - $what # SKIP no browser"
    done
fi
echo "1..$n"
exit $bad
