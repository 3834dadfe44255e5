#!/usr/bin/env bash
# make_docs.sh [FOLDER]: renders the README and the handouts as HTML pages in FOLDER (build/docs) and checks their links
# (check_links.py). Each page is one complete file. Needs pandoc, and no network.
#
# Pages: index.html from README.md, NAME.html from labs/NAME/README.md, and instructor/NAME.html from
# solutions/NAME/README.md, with the answers, in a folder of its own so that the others can be given away as they are.
# Exit status: 0 done, 1 a link leads nowhere, 2 something is missing.
set -u
export LC_ALL=C.UTF-8
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/common/course
cd "$top" || exit 2
out=${1:-build/docs}
command -v pandoc >/dev/null || {
    echo "make docs: pandoc is missing; install it: apt-get install pandoc" >&2
    exit 2
}
mkdir -p "$out/instructor" || exit 2
out=$(cd "$out" && pwd)
to_top=$(realpath --relative-to="$out" "$top")

sources=(README.md labs/*/README.md solutions/*/README.md)
page_of() { # page_of SOURCE
    local name=${1%/README.md}
    case $1 in
    README.md) echo index.html ;;
    solutions/*) echo "instructor/${name#solutions/}.html" ;;
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
[ ${#existing[@]} -gt 0 ] || { echo "make docs: README.md and the handouts are missing" >&2; exit 2; }

made=()
for s in "${existing[@]}"; do
    page=$out/$(page_of "$s")
    up=
    [ "$(dirname "$page")" = "$out" ] || up=../
    title=$(sed -n 's/^# //p' "$s" | head -1)
    # the marks of a solution are comments; inside a table they would cut it in two
    sed -E '/^[ \t]*<!-- (BEGIN|END) SOLUTION -->$/d; /^[ \t]*<!--\|.*-->$/d' "$s" |
        pandoc --from=gfm --to=html5 --standalone --self-contained --toc --toc-depth=2 --css="$here/docs.css" \
            --lua-filter="$here/docs.lua" --metadata=lang:en --metadata=pagetitle:"$title" --metadata=source:"$s" \
            --metadata=to_top:"$up$to_top" --metadata=up:"$up" --metadata=pages:"$pages" --resource-path="$(dirname "$s")" \
            --output="$page" || { echo "make docs: pandoc can't render $s (see above)" >&2; exit 2; }
    made+=("$page")
done
python3 "$here/check_links.py" "${made[@]}" || exit 1
printf '%s\n' "${made[@]#"$top"/}"
