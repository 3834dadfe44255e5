#!/usr/bin/env bash
# test_deps.sh: deps.sh names what is missing, and what can't be installed with the package, the command and the reason.
# Its own list of packages, and an apt-get and an id that are scripts. Prints TAP.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree/common/setup" "$work/bin"
cp "$here/deps.sh" "$work/tree/common/setup/"
cat >"$work/bin/apt-get" <<'EOS'
#!/bin/bash
[ "$1" = update ] && exit "${NO_NETWORK:-0}"
case "$*" in *absent*) echo "E: Unable to locate package absent" >&2; exit 100 ;; esac
for p in "$@"; do [ "$p" = good ] && touch "${0%/*}/good-program" && chmod +x "${0%/*}/good-program"; done
exit 0
EOS
printf '#!/bin/sh\necho ${FAKE_ID:-0}\n' >"$work/bin/id"
chmod +x "$work"/bin/*
n=0 failed=0
deps() { # deps LIST LEVEL: the exit status in $rc, all output in $work/out
    printf '%b' "$1" >"$work/tree/common/setup/packages.txt"
    rm -f "$work/bin/good-program"
    PATH=$work/bin:$PATH TMPDIR=$work "$work/tree/common/setup/deps.sh" "$2" >"$work/out" 2>&1
    rc=$?
}
check() { # check NAME WANTED_STATUS TEXT...
    local name=$1 good=1 text
    n=$((n + 1))
    [ $rc = "$2" ] || good=0
    shift 2
    for text in "$@"; do grep -qF -- "$text" "$work/out" || good=0; done
    if [ $good = 1 ]; then echo "ok $n - $name"; else
        failed=1
        echo "not ok $n - $name: exit status $rc"
        sed 's/^/# /' "$work/out"
    fi
}
good='demo cmd:good-program good a program\n' absent='demo cmd:absent-program absent another program\n'

deps "$good" demo
check 'what is missing is installed' 0 'missing: good' 'installing good'
[ -x "$work/bin/good-program" ]
rc=$?
check 'it is there' 0
deps "$absent$good" demo
check "a package that can't be had is named with command and reason, the others come" 0 \
    "absent was not installed by 'apt-get install absent': E: Unable to locate package absent" 'going on without: absent'
[ -x "$work/bin/good-program" ]
rc=$?
check 'the other one is there' 0
NO_NETWORK=100 deps "$absent" demo
check 'no package lists: said' 0 "'apt-get update' failed"
deps "build cmd:absent-program absent the compiler\n" demo
check 'without a compiler: exit status 2' 2 'Nothing can be built without: absent'
FAKE_ID=1000 deps "$good" demo
check 'without root: the command' 0 'sudo apt-get install -y --no-install-recommends good' 'going on without: good'
deps "$good" everything
check 'an unknown level: exit status 2' 2 "'everything' is unknown"
echo "1..$n"
exit $failed
