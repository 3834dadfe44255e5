#!/usr/bin/env bash
# test_sim_outputs.sh: where `servelab sim` writes: full disks, closed descriptors, FIFOs, links, folders
# and files that another run is writing. Nothing here touches a device of the machine.
set -u
servelab=$(realpath "${SERVELAB:-build/bin/servelab}")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
count=0
ok() { # ok NAME CONDITION...
    count=$((count + 1))
    local name=$1
    shift
    if "$@"; then echo "ok $count - $name"; else echo "not ok $count - $name"; fi
}
run=(sim run --arrivals poisson --rate-rps 50 --requests 300)
sweep=(sim sweep --arrivals poisson --requests 60 --rates 50,100)
gives() { # gives STATUS COMMAND...
    local status=$1
    shift
    "$@" >out 2>err
    [ $? = "$status" ]
}
full() { "$@" >/dev/full 2>err; [ $? = 4 ] && grep -q "output can't be written" err; }
closed() { "$@" >&- 2>err; [ $? = 4 ] && grep -q "output can't be written" err; }
ok "a full disk fails the text output" full "$servelab" "${run[@]}"
ok "and the JSON output" full "$servelab" "${run[@]}" --json
ok "and a sweep's output" full "$servelab" "${sweep[@]}" --out s
ok "and --help" full "$servelab" sim run --help
ok "a closed standard output fails" closed "$servelab" "${run[@]}"
"$servelab" "${run[@]}" --per-request --records whole.jsonl >/dev/null
closed_log() { "$servelab" "${run[@]}" --per-request --records log.jsonl >&- 2>&-; cmp -s log.jsonl whole.jsonl; }
ok "and its text doesn't run into the records" closed_log

fifo_log() {
    mkfifo fifo
    timeout 20 cat fifo >got & local reader=$!
    gives 0 timeout 20 "$servelab" "${run[@]}" --records fifo || return 1
    wait $reader
    [ -p fifo ] && cmp -s got whole.jsonl
}
ok "a FIFO gets the records and stays a FIFO" fifo_log
link_log() { ln -s target.jsonl link; : >target.jsonl
    gives 0 "$servelab" "${run[@]}" --records link && [ -L link ] && cmp -s target.jsonl whole.jsonl; }
ok "a link stays a link, and its file is replaced" link_log
dead_link() { ln -s nowhere/x dead; gives 2 "$servelab" "${run[@]}" --records dead && grep -q -- "--records" err; }
ok "a link to nowhere is refused by name" dead_link
folder_log() { mkdir folder; gives 2 "$servelab" "${run[@]}" --records folder && grep -q "is a folder" err && [ ! -s out ]; }
ok "a folder in place of a file is refused before the run" folder_log
in_the_way() { mkfifo x.partial; gives 2 timeout 20 "$servelab" "${run[@]}" --records x && grep -q "in the way" err; }
ok "another file with the name of the partial log is reported" in_the_way

# The lock is taken from outside, as a run that is under way holds it.
held_log() {
    python3 - held.jsonl.partial "$servelab" "${run[@]}" --records held.jsonl <<'PY'
import fcntl, struct, subprocess, sys
f = open(sys.argv[1], "w")
F_OFD_SETLK = 37
fcntl.fcntl(f, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
done = subprocess.run(sys.argv[2:], capture_output=True, text=True)
sys.exit(not (done.returncode == 2 and "another run" in done.stderr and not done.stdout))
PY
}
ok "two runs can't write one log" held_log
stale() { echo rubbish >whole.jsonl.partial
    gives 0 "$servelab" "${run[@]}" --records whole.jsonl && ! grep -q rubbish whole.jsonl && [ ! -e whole.jsonl.partial ]; }
ok "the partial log of a killed run is overwritten" stale
held_folder() {
    mkdir -p taken
    flock taken "$servelab" "${sweep[@]}" --out taken >out 2>err
    [ $? = 2 ] && grep -q "another sweep" err && [ -z "$(ls taken)" ]
}
ok "two sweeps can't write one folder" held_folder
ok "and afterwards it is free again" gives 0 "$servelab" "${sweep[@]}" --out taken
odd=$(printf 'odd\xff\033[31m<&>\nname.csv')
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,10,5\n2023-11-16 18:15:47,10,5\n' >"$odd"
odd_name() {
    gives 0 "$servelab" sim sweep --trace "$odd" --trace-format azure --rates 1,2 --out odd || return 1
    ! grep -q "$(printf '\033')" out && python3 -c "
import json, xml.etree.ElementTree as xml
xml.parse('odd/curve.svg')
assert json.load(open('odd/sweep.json'))['workload'].startswith('trace odd??[31m<&>?name.csv, 2 rows')"
}
ok "a file of an odd name leaves JSON, SVG and terminal whole" odd_name
odd_error() {
    gives 2 "$servelab" sim run --trace "$odd.no" --trace-format azure --json
    ! grep -q "$(printf '\033')" err && [ "$(wc -l <err)" = 1 ] && python3 -m json.tool <out >/dev/null
}
ok "so does an error about it" odd_error
echo "1..$count"
