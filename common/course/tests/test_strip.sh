#!/usr/bin/env bash
# test_strip.sh: strip.awk cuts marked regions, and refuses every mistake through which an answer could reach a starter.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0

report() { # report OK NAME
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

strip() { # strip < source; output in $work/out, message in $work/err
    cat >"$work/source"
    awk -f "$top/common/course/strip.awk" "$work/source" >"$work/out" 2>"$work/err"
}

gives() { # gives NAME EXPECTED < source
    strip && [ "$(cat "$work/out"; echo .)" = "$(printf '%b.' "$2")" ]
    report $? "$1"
}

refuses() { # refuses NAME LINE WORDS < source
    ! strip && grep -q ":$2: .*$3" "$work/err"
    report $? "refuses $1"
}

gives 'a region is cut' 'a\nb\n' < <(printf 'a\n// BEGIN SOLUTION\nsecret\n// END SOLUTION\nb\n')
gives 'kept lines stay at their indentation' 'a\n\tLAB_TODO("f");\n\t\nb\n' < <(printf 'a\n\t// BEGIN SOLUTION\n\t//| LAB_TODO("f");\n\tsecret\n\t//|\n\t// END SOLUTION\nb\n')
gives 'Markdown has its own marks' '# t\nWrite here.\n' < <(printf '# t\n<!-- BEGIN SOLUTION -->\nsecret\n<!--| Write here. -->\n<!-- END SOLUTION -->\n')
gives 'a cut leaves one blank line, and other blank lines alone' 'a\n\nb\n\n\nc\n' < <(printf 'a\n\n// BEGIN SOLUTION\nsecret\n// END SOLUTION\n\nb\n\n\nc\n')
gives 'a file without regions is copied' 'a\n' < <(printf 'a\n')
gives 'an empty file stays empty' '' < <(printf '')
gives 'regions may follow each other' '' < <(printf '// BEGIN SOLUTION\nsecret\n// END SOLUTION\n// BEGIN SOLUTION\nsecret\n// END SOLUTION\n')
refuses 'BEGIN without END' 2 'without an END' < <(printf 'a\n// BEGIN SOLUTION\nsecret')
refuses 'END without BEGIN' 2 'without a BEGIN' < <(printf 'a\n// END SOLUTION\n')
refuses 'nesting' 2 "don't nest" < <(printf '// BEGIN SOLUTION\n// BEGIN SOLUTION\n// END SOLUTION\n')
refuses 'marks of two kinds' 2 'another kind' < <(printf '// BEGIN SOLUTION\n<!-- END SOLUTION -->\n')
refuses 'a mark that is not alone' 1 'looks like a mark' < <(printf 'int x; // BEGIN SOLUTION\n')
refuses 'a mark with a blank behind it' 3 'looks like a mark' < <(printf '// BEGIN SOLUTION\nsecret\n// END SOLUTION \n')
refuses 'a mark without its blank' 1 'looks like a mark' < <(printf '//BEGIN SOLUTION\n')
refuses 'a mark in lower case' 1 'looks like a mark' < <(printf '// Begin solution\n')
refuses 'a mark in another comment' 1 'looks like a mark' < <(printf '/* BEGIN SOLUTION */\n')
refuses 'a mark with an underscore' 1 'looks like a mark' < <(printf '// BEGIN_SOLUTION\n')
refuses 'CR LF line ends' 1 'CR LF' < <(printf '// BEGIN SOLUTION\r\nsecret\r\n// END SOLUTION\r\n')
refuses 'a kept line outside of a region' 1 'outside of a region' < <(printf '//| kept\n')
refuses 'a kept Markdown line outside of a region' 1 'outside of a region' < <(printf '<!--| kept -->\n')
refuses 'a kept mark behind code' 2 'must come first' < <(printf '// BEGIN SOLUTION\nx = 1; //| kept\n// END SOLUTION\n')
refuses 'a kept Markdown line that does not close' 2 'must come first' < <(printf '<!-- BEGIN SOLUTION -->\n<!--| kept\n<!-- END SOLUTION -->\n')
strip < <(printf 'a\n// BEGIN SOLUTION\nsecret')
[ "$(cat "$work/out")" = a ]
report $? 'what was cut off is not printed after an error'
echo "1..$n"
