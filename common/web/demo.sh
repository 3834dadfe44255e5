#!/usr/bin/env bash
# demo.sh [MODEL]: sends one request from a real browser to a real model, shows its record, grades lab 01, and simulates a
# queue.
#
#   MODEL   tiny (default, the model in this tree), smollm2 (fetched by `make model`), or the path of a GGUF file or a folder
#
# BACKEND=simt serves the request through the CUDA source on the CPU, cuda through a GPU: without a pace, as fast as it is.
#
# The results are in build/demo: record.json, page.png, sweep/curve.svg, the server's log. Without a browser the built-in
# client takes its place, on its own clock, and the output says so. Every process it started is ended, on Ctrl-C too.
#
# Environment: BROWSER=none uses the built-in client at once; SERVELAB names a program that is built already, and OUT
# another folder (both for the tests); SERVELAB_TINY names another file for `tiny`.
# Exit status: 0 every step worked; 1 a step failed; 2 it couldn't begin. Not here: installing (common/setup/deps.sh).
set -u
cd "$(dirname "$0")/../.." || exit 2
model=${1:-tiny}
out=${OUT:-build/demo}
servelab=${SERVELAB:-build/bin/servelab}
server='' driver='' name='' machine=() paced=0
load_s=${LOAD_S:-20}
warm_up_s=$((load_s / 5))
readonly NO_BROWSER=5 # drive.py's exit status

bold='' plain=''
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] && bold=$'\033[1m' plain=$'\033[0m'
step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
give_up() { # give_up STATUS TEXT
    printf 'make demo: %s\n' "$2" >&2
    exit "$1"
}

# ---- every process that was started is ended, by its id --------------------------------------------------------------
end() { # end PID SECONDS: SIGTERM, a wait, SIGKILL
    [ -n "$1" ] || return 0
    kill -TERM "$1" 2>/dev/null
    for _ in $(seq $(($2 * 20))); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    kill -KILL "$1" 2>/dev/null
}
clean_up() {
    status=$?
    trap - EXIT INT TERM HUP
    end "$driver" 5 # it closes its browser
    end "$server" 5
    wait 2>/dev/null
    exit "$status"
}
trap clean_up EXIT
trap 'echo; exit 130' INT
trap 'exit 143' TERM HUP

# ---- the steps ------------------------------------------------------------------------------------------------------
compile() { # shows its progress: a minute of silence looks like a fault
    local total
    total=$(make -n build 2>/dev/null | grep -c -- ' -c ')
    [ "$total" = 0 ] || echo "  $total files to compile"
    local n=0 what
    # not awk: Debian's holds back what it reads from a pipe
    make -j"$(nproc)" build 2>"$out/build.log" | while read -r what _; do
        case $what in cc | simt) ;; *) continue ;; esac
        n=$((n + 1))
        if [ -t 1 ]; then
            printf '\r  compiled %d of %d' $n "$total"
        elif [ $((n % 25)) = 0 ]; then
            echo "  compiled $n of $total"
        fi
    done
    if [ "${PIPESTATUS[0]}" != 0 ]; then
        tail -20 "$out/build.log" >&2
        give_up 2 "it doesn't build; the whole output is in $out/build.log"
    fi
    echo "  $servelab is up to date"
}

find_model() {
    case $model in
    tiny)
        file=${SERVELAB_TINY:-common/model/embedded/servelab-tiny.gguf}
        [ -n "${BACKEND:-}" ] || paced=1 # it answers in milliseconds: at a pace its answer can be watched
        ;;
    smollm2)
        file=build/models/smollm2.gguf name=SmolLM2-135M-Instruct
        common/model/fetch_smollm2.sh || give_up 1 "SmolLM2 can't be fetched; 'make demo' without MODEL runs the embedded model"
        ;;
    *) file=$model ;;
    esac
    [ $paced = 0 ] || machine=(--pace llama-2-7b:a100)
    [ -z "${BACKEND:-}" ] || machine=(--backend "$BACKEND")
    [ -r "$file" ] || give_up 2 "no model $file; MODEL is tiny, smollm2 or the path of a GGUF file or of a Hugging Face folder"
}

start_server() { # start_server LOG FLAGS...: `servelab serve` with these flags
    local log=$out/$1 waited=0
    shift
    rm -f "$out/port"
    "$servelab" serve --port 0 --port-file "$out/port" "$@" >"$log" 2>&1 &
    server=$!
    until [ -s "$out/port" ]; do
        kill -0 "$server" 2>/dev/null || { cat "$log" >&2; server=''; give_up 1 "the server didn't start"; }
        sleep 0.1
        waited=$((waited + 1))
        [ $((waited % 20)) != 0 ] || echo "  loading the model ... $((waited / 10)) s"
    done
    url=http://127.0.0.1:$(cat "$out/port")/
    sed 's/^/  /' "$log"
}

# In the background, so that Ctrl-C needn't wait for it.
in_background() { "$@" & driver=$!; }
finished() { # its exit status
    wait "$driver"
    local rc=$?
    driver=''
    return $rc
}

ask_by_browser() {
    [ "${BROWSER:-}" = none ] && return $NO_BROWSER
    command -v python3 >/dev/null || { echo "  python3, which drives the browser, is not installed"; return $NO_BROWSER; }
    in_background python3 common/web/drive.py --url "$url" --out "$out/record.json" --picture "$out/page.png"
    finished
}

ask_by_client() {
    client="the built-in client, on its own clock"
    echo "  The built-in client takes the browser's place: the same three stamps, on a program's clock, without a page."
    in_background "$servelab" load --url "$url" --preset first --record "$out/record.json" --json >"$out/client.json"
    local waited=0
    while kill -0 "$driver" 2>/dev/null; do
        sleep 0.1
        waited=$((waited + 1))
        [ $((waited % 20)) != 0 ] || printf '  %6d.0 s  The server is reading 2,048 tokens, or answering.\n' $((waited / 10))
    done
    finished
}

ask() {
    client="a Chromium page"
    ask_by_browser
    [ $? = $NO_BROWSER ] && ask_by_client
    [ -s "$out/record.json" ] || give_up 1 "the request left no record; the server's log is $out/server.log"
}

# The curve of a simulated GPU server. The tables of four requests are lab 02's exercise.
simulate() {
    "$servelab" sim sweep --arrivals poisson --requests 3000 --prompt-tokens 100:2000 --output-tokens 20:300 \
        --model llama-2-7b --gpu h100 --policies static:8,continuous --out "$out/sweep" >"$out/sim.txt" || return 1
    echo "  A model of a 7B server under rising load, batched in two ways ($servelab sim sweep --help):"
    sed -n '/mean end-to-end latency, s (/,$p' "$out/sim.txt"
}

# The real engine under the recurring case's load. It keeps the pace of a 7B model on one 80 GiB GPU and computes no
# tokens: no laptop computes prompts of 2,048 tokens at that pace. The simulator predicts the same requests beside it.
load_at() { # load_at RATE: 1 if the run is invalid; its figures are shown all the same
    local rate=$1 valid
    local workload=(--arrivals poisson --rate-rps "$rate" --prompt-tokens 2048 --output-tokens 256 --seed 7
        --warm-up-s "$warm_up_s") # a server that begins empty would look faster than it is
    local requests=$((rate * load_s))
    in_background "$servelab" load --url "$url" "${workload[@]}" --requests $requests --out "$out/load-$rate" --force \
        >"$out/load-$rate.txt"
    finished
    valid=$?
    [ $valid -le 1 ] || return $valid
    "$servelab" sim run --model llama-2-7b --gpu h100 --policy learner "${workload[@]}" --requests $requests \
        >"$out/sim.txt" || return 1
    echo
    echo "  $rate requests/s offered for $load_s s; p50 and p99 in ms:     measured             predicted"
    awk 'function row(name, at) { printf "    %-36s %9.1f %9.1f  %9.1f %9.1f\n", name, m[at, 1], m[at, 2], p[at, 1], p[at, 2] }
         FNR == 1 { file++ }
         file == 1 && $1 ~ /^(TTFT|TPOT|e2e)$/ && $2 + 0 > 0 { m[$1, 1] = $2; m[$1, 2] = $4 + 0 }
         file == 2 && $1 ~ /^(TTFT|TPOT)$/ && $2 + 0 > 0 { p[$1, 1] = $2; p[$1, 2] = $3 + 0 }
         file == 2 && $1 == "end" && $2 == "to" { p["e2e", 1] = $4; p["e2e", 2] = $5 + 0 }
         END { row("time to first token (TTFT)", "TTFT"); row("time per output token (TPOT)", "TPOT")
               row("end to end (e2e)", "e2e") }' "$out/load-$rate.txt" "$out/sim.txt"
    sed -n 's/^  INVALID: /  This run is invalid, so it proves nothing. End other programs and try again: /p' "$out/load-$rate.txt"
    return $valid
}
under_load() {
    end "$server" 5
    start_server paced.log --model "$file" --backend none --pace llama-2-7b:h100 --context 2304 --prefix-cache off \
        --max-waiting 10000
    echo "  Answers are filler; every time below is a simulated machine's, in real time, through the real server."
    load_at 2
    local first=$?
    load_at 7 && return $first
}

# The loads of the step before against an objective. Answers of --backend none are filler, so whether they are useful is
# not computable: exit status 1 is the expected answer.
judge_loads() {
    "$servelab" report "$out/load-2" "$out/load-7" --objective common/report/objective.json --out "$out/report" \
        >"$out/report.txt"
    [ $? -le 1 ] || return 1
    sed -n 's/^| \(build[^|]*\|[^|]*load-[27]\) | \([^|]*\)|[^|]*| \([^|]*\)|.*/  \1: \2requests\/s offered: \3/p' "$out/report/report.md"
    echo "  $(head -1 "$out/report.txt")"
    echo "  Filler is no useful answer, however fast it comes: a report counts work that is right."
}

# ---- the demo -------------------------------------------------------------------------------------------------------
mkdir -p "$out" || exit 2
rm -f "$out/record.json" "$out/page.png" "$out/requests.jsonl"
failed=0

step "1  What is needed"
common/setup/deps.sh demo || exit $?
echo "  ready"
step "2  Building"
if [ -n "${SERVELAB:-}" ]; then echo "  $servelab, as SERVELAB says"; else compile; fi
step "3  The server"
find_model
start_server server.log --model "$file" ${name:+--name "$name"} "${machine[@]}" --log "$out/requests.jsonl"
step "4  One prompt of 2,048 tokens, up to 256 tokens of answer (fewer where the model's context ends)"
[ $paced = 0 ] || echo "  Real answers of a small model, each step as long as a 7B model needs on one A100 of 80 GiB (simulated)."
ask
step "5  The record of that one request (seen by $client)"
"$servelab" record check "$out/record.json" || failed=1
reason=$("$servelab" record check --json "$out/record.json" | sed 's/.*"completion_reason":"\([a-z_]*\)".*/\1/')
case $reason in
delivered) ;;
truncated) echo "  The answer reached max_tokens, so it counts as incomplete. That is the rule, not a fault of the demo." ;;
*)
    echo "  The request was not completed ($reason); the server's log is $out/server.log"
    failed=1
    ;;
esac
step "6  Lab 01, the reference solution, graded"
"$servelab" grade 01 solutions/01_request_record || failed=1

step "7  A queue, simulated: who waits, and how much one server can take"
simulate || failed=1

step "8  The server under load, at the pace of a 7B model on one H100: below the knee, and above it"
under_load || failed=1

step "9  Was the objective met? ($servelab report --help)"
judge_loads || failed=1

step "What is left for you to look at"
echo "  $out/record.json    the record above; \`$servelab record check $out/record.json\` prints it again"
[ -s "$out/page.png" ] && echo "  $out/page.png       the page as the browser saw it"
[ -s "$out/sweep/curve.svg" ] && echo "  $out/sweep/curve.svg  the curve as a picture; sweep.json beside it has every point"
echo "  $out/load-2 and load-7  records and run.json of the two loads; \`$servelab trace $out/load-7\` draws them"
echo "  \`$servelab serve\` and a browser at http://127.0.0.1:8080/ show it live"
[ -s "$out/report/report.html" ] && echo "  $out/report/report.html  did the server meet its objective: the report of the two loads"
[ $failed = 0 ] || echo "Not all of it went well (exit status 1): a step above names a fault, or says that a run is invalid."
exit $failed
