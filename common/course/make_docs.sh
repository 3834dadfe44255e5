#!/usr/bin/env bash
# make_docs.sh [FOLDER]: the README and the handouts as HTML pages in FOLDER (build/docs), each complete in one file, and
# their links checked (check_links.py). Works without a network.
#
# Pages: index.html from README.md, NAME.html from labs/NAME/README.md, and NAME.instructor.html from
# solutions/NAME/README.md, with the answers.
# Exit status: 0 done, 1 a link leads nowhere, 2 something is missing.
set -u
export LC_ALL=C.UTF-8
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/common/course
cd "$top" || exit 2
out=${1:-build/docs}
command -v pandoc >/dev/null || {
    echo "make docs: pandoc is needed; try: apt-get install pandoc" >&2
    exit 2
}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
to_top=$(realpath --relative-to="$out" "$top")

sources=(README.md labs/*/README.md solutions/*/README.md)
page_of() { # page_of SOURCE
    local name=${1%/README.md}
    case $1 in
    README.md) echo index.html ;;
    solutions/*) echo "${name#solutions/}.instructor.html" ;;
    *) echo "${name#labs/}.html" ;;
    esac
}

existing=()
pages=
for s in "${sources[@]}"; do
    [ -f "$s" ] || continue
    existing+=("$s")
    pages+="$s $(page_of "$s") "
done
[ ${#existing[@]} -gt 0 ] || { echo "make docs: there is no document to render" >&2; exit 2; }

made=()
for s in "${existing[@]}"; do
    page=$out/$(page_of "$s")
    title=$(sed -n 's/^# //p' "$s" | head -1)
    # the marks of solutions/ are comments that would cut a table in two
    sed -E '/^[ \t]*<!-- (BEGIN|END) SOLUTION -->$/d; /^[ \t]*<!--\|.*-->$/d' "$s" |
        pandoc --from=gfm --to=html5 --standalone --self-contained --toc --toc-depth=2 --css="$here/docs.css" \
            --lua-filter="$here/docs.lua" --metadata=lang:en --metadata=pagetitle:"$title" --metadata=source:"$s" \
            --metadata=to_top:"$to_top" --metadata=pages:"$pages" --resource-path="$(dirname "$s")" \
            --output="$page" || { echo "make docs: $s can't be rendered" >&2; exit 2; }
    made+=("$page")
done
python3 "$here/check_links.py" "${made[@]}" || exit 1
printf '%s\n' "${made[@]#"$top"/}"
