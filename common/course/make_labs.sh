#!/usr/bin/env bash
# make_labs.sh [--to FOLDER]: generates labs/ from solutions/, or into FOLDER, which must be empty.
#
# strip.awk cuts the marked regions out of a source. A data file X that has X.starter beside it is replaced by that.
# Folders named instructor/, steps/ (earlier versions of an answer) or runs/ (measurements) are left out, and so is a lab without a README.md:
# its sources may have no regions yet.
# labs/.generated holds the digest of every file as it was generated. A file with another digest was edited. Then
# nothing is overwritten and the edited files are named; FORCE=1 saves them under build/labs-saved/ and goes on.
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
    (cd solutions && find */ -type f ! -name '.*' ! -name '*~' ! -name '*.o' ! -path '*/instructor/*' ! -path '*/steps/*' ! -path '*/runs/*' | sort) |
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
        *) die 2 "solutions/$f: unknown kind of file; add it to generate() in make_labs.sh, or move it to instructor/" ;;
        esac
        from=solutions/$f
        [ -f "$from.starter" ] && from=$from.starter
        mkdir -p "$out/${f%/*}"
        awk -f "$here/strip.awk" "$from" >"$out/$f" || die 2 "$from can't be stripped (see above)"
    done < <(sources)
    (cd "$out" && find . -type f ! -name .generated | sed 's,^\./,,' | sort | xargs sha256sum) >"$out/.generated"
}

digest() { sha256sum <"$1" | cut -d' ' -f1; }

# Prints the edited files of labs/: those that differ from the last generated version and from the present one.
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
    while read -r sum f; do # remove what is no longer generated, unless it was edited
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
        echo "Nothing was changed. To keep your work, do nothing. To start over,"
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
