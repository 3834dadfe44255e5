#!/usr/bin/env bash
# check_fleet.sh: `make demo-fleet` with short loads: nothing is lost while a server drains, and a killed server loses what it
# had and no more (the demo's own exit status says so).
# servelab-test: waits
set -u
cd "$(dirname "$0")/../../.." || exit 4
if ! command -v haproxy >/dev/null; then
    echo "ok 1 - a fleet behind HAProxy # SKIP haproxy isn't installed; \`common/setup/deps.sh fleet\` does that"
    echo 1..1
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if LOAD_S=6 OUT=$folder/out common/load/fleet/demo_fleet.sh >"$folder/log" 2>&1; then
    echo "ok 1 - a fleet behind HAProxy"
else
    echo "not ok 1 - a fleet behind HAProxy: exit status $?"
    cat "$folder/log" >&2
fi
echo 1..1
