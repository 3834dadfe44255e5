#!/usr/bin/env bash
# make_labs.sh [--to FOLDER]: makes labs/ from solutions/, or writes a fresh copy of it into FOLDER (which must be empty).
#
# Per lab: a source is stripped of its marked regions (strip.awk); a data file X that has X.starter beside it becomes
# that; what stands in a folder named instructor/ or steps/ (earlier versions of an answer) stays here. A lab is
# published once it has a handout: a folder without README.md is passed over, as its sources may have no regions yet.
# labs/.generated holds the digest of every file as it was generated. So a file that no longer has its digest was edited
# by somebody, and nothing is overwritten then: the files are named, and FORCE=1 first saves them under build/labs-saved/.
#
# Exit status: 0 done, 1 edited files are in the way, 2 a source can't be stripped.
set -u
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/common/course
cd "$top" || exit 2

die() { # die STATUS MESSAGE
    echo "make labs: $2" >&2
    exit "$1"
}

sources() { # every file below solutions/ that takes part, as LAB/FILE
    (cd solutions && find */ -type f ! -name '.*' ! -name '*~' ! -name '*.o' ! -path '*/instructor/*' ! -path '*/steps/*' | sort) |
        while IFS= read -r f; do
            [ ! -f "solutions/${f%%/*}/README.md" ] || printf '%s\n' "$f"
        done
}

generate() { # generate FOLDER
    local out=$1 f from
    while IFS= read -r f; do
        case $f in
        *.starter)
            [ -f "solutions/${f%.starter}" ] || die 2 "solutions/$f has no ${f%.starter} beside it"
            continue
            ;;
        *.c | *.h | *.cu | *.cuh | *.md | *.json | *.svg | *.txt) ;;
        *) die 2 "solutions/$f: I don't know this kind of file; teach make_labs.sh, or put it into instructor/" ;;
        esac
        from=solutions/$f
        [ -f "$from.starter" ] && from=$from.starter
        mkdir -p "$out/${f%/*}"
        awk -f "$here/strip.awk" "$from" >"$out/$f" || die 2 "$from can't be stripped (see above)"
    done < <(sources)
    (cd "$out" && find . -type f ! -name .generated | sed 's,^\./,,' | sort | xargs sha256sum) >"$out/.generated"
}

digest() { sha256sum <"$1" | cut -d' ' -f1; }

# Files of labs/ that somebody edited: neither as generated last time, nor as they would be generated now.
edited() { # edited FRESH
    local f sum was
    while read -r sum f; do
        [ -f "labs/$f" ] || continue
        cmp -s "labs/$f" "$1/$f" && continue
        was=$(awk -v f="$f" '$2 == f { print $1 }' labs/.generated 2>/dev/null)
        [ "$(digest "labs/$f")" = "$was" ] || echo "$f"
    done <"$1/.generated"
}

install_into_labs() { # install_into_labs FRESH
    local sum f
    mkdir -p labs
    while read -r sum f; do # a file that is no longer generated goes, if it is as we left it
        [ -f "$1/$f" ] || [ ! -f "labs/$f" ] || [ "$(digest "labs/$f")" != "$sum" ] || rm "labs/$f"
    done < <(cat labs/.generated 2>/dev/null)
    while read -r sum f; do
        cmp -s "$1/$f" "labs/$f" && continue
        mkdir -p "labs/${f%/*}"
        cp "$1/$f" "labs/$f"
        echo "labs/$f"
    done <"$1/.generated"
    cp "$1/.generated" labs/.generated
}

if [ "${1-}" = --to ]; then
    [ -n "${2-}" ] || die 2 "--to needs a folder"
    mkdir -p "$2"
    [ -z "$(ls -A "$2")" ] || die 2 "$2 isn't empty"
    generate "$(cd "$2" && pwd)"
    exit 0
fi
[ $# = 0 ] || die 2 "usage: make_labs.sh [--to FOLDER]"

mkdir -p build
fresh=$(mktemp -d build/labs.XXXXXX) || die 2 "build/ can't be written"
trap 'rm -rf "$fresh"' EXIT
generate "$top/$fresh"
mine=$(edited "$fresh")
if [ -n "$mine" ] && [ "${FORCE:-0}" != 1 ]; then
    {
        echo "make labs: these files were edited, and making them anew would lose that work:"
        printf '%s\n' "$mine" | sed 's,^,  labs/,'
        echo "Nothing was changed. To keep your work, leave it: labs/ needs no regenerating. To start over,"
        echo "  make labs FORCE=1"
        echo "saves these files under build/labs-saved/ and then makes them anew."
    } >&2
    exit 1
fi
if [ -n "$mine" ]; then
    saved=build/labs-saved/$(date +%Y%m%d-%H%M%S)-$$
    while IFS= read -r f; do
        mkdir -p "$saved/${f%/*}"
        cp "labs/$f" "$saved/$f"
    done <<<"$mine"
    echo "your edited files are saved in $saved"
fi
install_into_labs "$fresh"
