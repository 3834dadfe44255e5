#!/usr/bin/env bash
# demo_fleet.sh: three paced servers behind HAProxy (haproxy.cfg): the same load three times. First undisturbed, with what
# the simulator had predicted beside it; then one server drains under load, and nothing may be lost; then one is killed
# under load, and what was lost is counted. Ends with the objective report over the three.
#
# The results are in build/fleet: a run folder of each load, HAProxy's log, the report. Every process it started is ended.
# Environment: LOAD_S, the length of each load in seconds (15); RATE, requests/s (30); OUT; SERVELAB.
# Exit status: 0 done, and nothing was lost but what the killed server had; 1 something else was lost; 2 it couldn't begin.
set -u
cd "$(dirname "$0")/../../.." || exit 2
here=common/load/fleet
out=${OUT:-build/fleet} servelab=${SERVELAB:-build/bin/servelab} load_s=${LOAD_S:-15} rate=${RATE:-30}
names=(ONE TWO THREE) servers=('' '' '') proxy='' load='' failed=0
workload=(--arrivals poisson --rate-rps "$rate" --prompt-tokens 512 --output-tokens 128 --seed 7
    --warm-up-s 2) # about two answers: a fleet that begins empty would look faster than it is
model=llama-2-7b gpu=h100

step() { printf '\n%s\n' "$*"; }
give_up() { echo "make demo-fleet: $*" >&2; exit 2; }
end() { # end SIGNAL PID: and wait for it
    [ -n "$2" ] && kill -"$1" "$2" 2>/dev/null && wait "$2" 2>/dev/null
}
clean_up() {
    status=$?
    trap - EXIT INT TERM
    end TERM "$load"
    end TERM "$proxy"
    for pid in "${servers[@]}"; do end KILL "$pid"; done
    rm -rf "${short:-}"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- servers and router ----------------------------------------------------------------------------------------------

start_server() { # start_server NUMBER [PORT]: 0 is the first
    local i=$1 port=${2:-0} file=$out/port-$1
    rm -f "$file"
    "$servelab" serve --port "$port" --port-file "$file" --backend none --pace $model:$gpu --context 1024 \
        --log "$out/server-$i.jsonl" >"$out/server-$i.log" 2>&1 &
    servers[i]=$!
    while [ ! -s "$file" ]; do
        kill -0 "${servers[i]}" 2>/dev/null || give_up "server $i ended: $(tail -1 "$out/server-$i.log")"
        sleep 0.05
    done
    export "FLEET_${names[i]}=$(cat "$file")"
}

ask_proxy() { # ask_proxy COMMAND: over its socket
    python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode() + b"\n")
while (b := s.recv(65536)): sys.stdout.write(b.decode())' "$FLEET_SOCKET" "$1"
}
column() { # column SERVER NAME: of HAProxy's statistics
    ask_proxy "show stat" | awk -F, -v server="$1" -v name="$2" '
        NR == 1 { sub(/^# /, ""); for (i = 1; i <= NF; i++) at[$i] = i }
        $at["pxname"] == "servers" && $at["svname"] == server { print $at[name] }'
}
until_status() { # until_status SERVER UP|DOWN
    until [[ "$(column "$1" status)" == "$2"* ]]; do
        kill -0 "$proxy" 2>/dev/null || give_up "HAProxy ended: $(tail -1 "$out/haproxy.log")"
        sleep 0.05
    done
}

start_proxy() {
    export FLEET_SOCKET=$short/haproxy FLEET_PORT
    FLEET_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    haproxy -db -f $here/haproxy.cfg >"$out/haproxy.log" 2>&1 &
    proxy=$!
    until [ -S "$FLEET_SOCKET" ]; do
        kill -0 "$proxy" 2>/dev/null || give_up "HAProxy ended: $(tail -1 "$out/haproxy.log")"
        sleep 0.05
    done
    for name in one two three; do until_status $name UP; done
}

# ---- loads -----------------------------------------------------------------------------------------------------------

begin_load() { # begin_load NAME
    rm -rf "${out:?}/$1"
    "$servelab" load --url "http://127.0.0.1:$FLEET_PORT" "${workload[@]}" --duration-s "$load_s" --no-join --out "$out/$1" >"$out/$1.txt" &
    load=$!
}
end_load() { # end_load NAME: shows what became of its requests
    wait "$load"
    load=''
    [ -s "$out/$1/run.json" ] || give_up "the load $1 left no run"
    echo "  $(count "$1" 'c["sent"]') requests sent, $(count "$1" 'c["sent"] - c["answered_whole"]') of them lost"
}
count() { # count NAME EXPRESSION: of the run's counts c
    python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["counts"]; print(eval(sys.argv[2]))' \
        "$out/$1/run.json" "$2"
}
until_busy() { # until_busy SERVER: requests are in flight there
    until [ "$(column "$1" scur)" -gt 0 ]; do
        kill -0 "$load" 2>/dev/null || give_up "the load ended before $1 had a request in flight"
        sleep 0.02
    done
}
half_way() { sleep "$(python3 -c "print($load_s / 2)")"; }

predict() {
    "$servelab" sim run --model $model --gpu $gpu --policy learner "${workload[@]}" --servers 3 --router least-outstanding \
        --requests "$(count quiet 'c["sent"]')" \
        --json >"$out/predicted.json" || return 1
    python3 - "$out/quiet.json" "$out/predicted.json" <<'END'
import json, sys
measured = json.load(open(sys.argv[1]))["points"][0]["latency"]
predicted = json.load(open(sys.argv[2]))
print(f"  {'ms':24}{'measured':>20}{'predicted':>20}\n  {'':24}{'p50':>10}{'p99':>10}{'p50':>10}{'p99':>10}")
for name, ours, key in (("time to first token", "client_ttft", "ttft"), ("time per output token", "tpot", "tpot"),
                        ("end to end", "e2e", "e2e")):
    p = [predicted["window"][f"{key}_{q}"]["ns"] / 1e6 for q in ("p50", "p99")]
    m = [measured[ours][q]["ns"] / 1e6 for q in ("p50", "p99")]
    print(f"  {name:24}" + "".join(f"{v:10.1f}" for v in m + p))
END
}

statistics() {
    echo "  HAProxy's own count:        requests     2xx     5xx   aborted by the server   went to another server"
    for name in one two three; do
        printf '    %-24s%10s%8s%8s%24s%24s\n' $name "$(column $name stot)" "$(column $name hrsp_2xx)" \
            "$(column $name hrsp_5xx)" "$(column $name srv_abrt)" "$(column $name wredis)"
    done
}

# ---- the demo --------------------------------------------------------------------------------------------------------

command -v haproxy >/dev/null || give_up "haproxy isn't installed; \`common/setup/deps.sh fleet\` does that"
command -v python3 >/dev/null || give_up "python3 isn't installed; \`common/setup/deps.sh fleet\` does that"
mkdir -p "$out" || exit 2
short=$(mktemp -d) || exit 2 # a socket's path has at most 107 bytes

step "1  Three servers, each at the pace of $model on one $gpu, behind HAProxy ($here/haproxy.cfg)"
for i in 0 1 2; do start_server $i; done
start_proxy
echo "  least connections, a health check every 0.2 s; $rate requests/s for $load_s s in each of the loads"

step "2  Undisturbed, and what the simulator had predicted for this fleet and router"
begin_load quiet
end_load quiet
"$servelab" report "$out/quiet" --objective $here/objective.json --json >"$out/quiet.json"
predict || failed=1

step "3  One server drains under load: it answers what it has, and gets nothing new"
begin_load drained
half_way
until_busy one
kill -TERM "${servers[0]}"
wait "${servers[0]}"
end_load drained
[ "$(count drained 'c["sent"] - c["answered_whole"]')" = 0 ] || { echo "  None may be lost while a server drains"; failed=1; }
start_server 0 "$FLEET_ONE"
until_status one UP

step "4  One server is killed under load: what it had is lost, and nothing else may be"
begin_load killed
half_way
until_busy two
had=$(column two scur)
{ kill -KILL "${servers[1]}" && wait "${servers[1]}"; } 2>/dev/null
end_load killed
servers[1]=''
echo "  it had $had requests in flight shortly before"
statistics
lost=$(count killed 'c["sent"] - c["answered_whole"]')
aborted=$($here/broken_answers.sh "$out/haproxy.log" two) || failed=1
silent=$(grep -c 'the kept connection broke before an answer' "$out/killed/records.jsonl")
if [ "$lost" != $((aborted + silent)) ]; then
    echo "  $lost were lost, but $aborted answers broke off and $silent requests had no answer yet: something else was lost"
    failed=1
fi

step "5  Did the fleet meet its objective?"
"$servelab" report "$out/quiet" "$out/drained" "$out/killed" --objective $here/objective.json --out "$out/report"
[ $? -le 1 ] || failed=1
sed -n 's/\*\*//g; s/^## \(.*\/\(quiet\|drained\|killed\)\)$/  \1/p; s/^- \(recovery\|failure rate\)/    \1/p' "$out/report/report.md"
exit $failed
