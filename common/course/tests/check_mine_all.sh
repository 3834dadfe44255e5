#!/usr/bin/env bash
# check_mine_all.sh: the last step of lab 04. In a clone of this tree, the four references take the place of the starters in
# labs/, `make mine LAB=all` builds them as one server, which answers a chat with lab 03's kernels, too, and the server's tests
# run against it, the page's test too. It takes some minutes. T=REGEX: other tests than common/serve/tests/ and common/web/tests/.
set -eu
cd "$(dirname "$0")/../../.."
top=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone -q "$top" "$scratch/tree"
[ ! -e "$top/../shared" ] || ln -s "$(cd "$top/../shared" && pwd)" "$scratch/shared"
cd "$scratch/tree"
mkdir -p build
[ ! -e "$top/build/venv" ] || ln -s "$(cd "$top/build/venv" && pwd)" build/venv
for lab in 01_request_record 02_queue_sim 03_kernels 04_serving; do
    cp solutions/$lab/*.c* solutions/$lab/*.json labs/$lab/
done
make mine LAB=all
# nothing of solutions/ was compiled: only labs/ is in the product
if [ -d build/obj/gcc-release-solutions/solutions ]; then
    echo "make mine LAB=all compiled files of solutions/" >&2
    exit 1
fi

# as a learner who has just finished: start it, chat, see the answer and its record
for backend in cpu simt; do
    rm -f port
    build/mine/servelab serve --backend $backend --port 0 --port-file port 2>serve.log &
    server=$!
    for _ in $(seq 600); do [ -s port ] || sleep 0.1; done
    [ -s port ] || { cat serve.log >&2; exit 1; }
    curl -sS -m 120 "http://127.0.0.1:$(cat port)/v1/chat/completions" -H 'Content-Type: application/json' \
        -d '{"model": "servelab-tiny", "messages": [{"role": "user", "content": "How are you?"}], "max_tokens": 8}' >reply.json
    curl -sS "http://127.0.0.1:$(cat port)/v1/records" >records.json
    kill "$server"
    wait "$server"
    python3 - $backend <<'EOF'
import json, sys
reply, records = (json.load(open(f, encoding="utf-8")) for f in ("reply.json", "records.json"))
answer = reply["choices"][0]
assert answer["message"]["content"] and answer["finish_reason"] in ("stop", "length"), reply
assert reply["usage"]["completion_tokens"] > 0 and len(records["data"]) == 1, (reply, records)
print("a chat on", sys.argv[1], "is answered:", json.dumps(answer["message"]["content"]))
EOF
done
tests=$(ls common/serve/tests/test_*.[cp]* common/web/tests/test_*.py | grep -E "${T:-.}")
programs=$(for t in $tests common/serve/tests/test_http.c; do
    case $t in *.c) echo "build/obj/gcc-release-solutions/${t%.c}" ;; esac
done | sort -u)
# shellcheck disable=SC2086 # one word a program
make MINE=all build $programs
# shellcheck disable=SC2046 # one word a test
SERVELAB=$PWD/build/mine/servelab OBJ=$PWD/build/obj/gcc-release-solutions MODE=release CC=gcc common/testing/run_tests.py \
    $(for t in $tests; do case $t in *.c) echo "build/obj/gcc-release-solutions/${t%.c}" ;; *) echo "$t" ;; esac; done)
