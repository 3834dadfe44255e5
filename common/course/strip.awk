# strip.awk: turns one file of solutions/ into the starter of labs/.
#
#   awk -f strip.awk FILE > STARTER
#
#   // BEGIN SOLUTION      everything up to the matching END is left out ...
#   //| kept line          ... except such lines, which lose their mark and keep their indentation
#   // END SOLUTION
#
# In Markdown: <!-- BEGIN SOLUTION -->, <!--| kept line --> and <!-- END SOLUTION -->. Where a cut leaves two blank lines
# together, one is removed.
#
# A mistake through which an answer could reach the starter is an error with file and line, exit status 1: regions don't
# nest; both marks of a region are of one kind; a mark is alone on its line and spelt exactly so; kept lines are inside a
# region; lines end in LF.

function fail(line, what) {
    printf "%s:%d: %s\n", FILENAME, line, what > "/dev/stderr"
    failed = 1
    exit 1
}

function out(text) {
    if (text ~ /^[ \t]*$/) {
        if (was_cut && was_blank) return
        was_blank = 1
    } else {
        was_blank = was_cut = 0
    }
    print text
}

function mark_style(line) { return line ~ /^[ \t]*<!--/ ? "<!-- -->" : "//" }

/\r$/ { fail(FNR, "the line ends in CR LF; save the file with LF line ends") }

/^[ \t]*(\/\/ BEGIN SOLUTION|<!-- BEGIN SOLUTION -->)$/ {
    if (inside) fail(FNR, "BEGIN SOLUTION inside the region that begins at line " inside "; regions don't nest")
    inside = FNR
    style = mark_style($0)
    next
}

/^[ \t]*(\/\/ END SOLUTION|<!-- END SOLUTION -->)$/ {
    if (!inside) fail(FNR, "END SOLUTION without a BEGIN")
    if (mark_style($0) != style) fail(FNR, "this END SOLUTION is of another kind than its BEGIN at line " inside)
    inside = 0
    was_cut = 1
    next
}

# Anything that only resembles a mark would be copied, or would swallow a region's end.
tolower($0) ~ /(begin|end)[ \t_-]*solution/ {
    fail(FNR, "this looks like a mark but isn't one; it must be exactly \"// BEGIN SOLUTION\", alone on its line")
}

/^[ \t]*\/\/\|/ {
    if (!inside) fail(FNR, "a kept line (//|) outside of a region")
    sub(/\/\/\| ?/, "")
    out($0)
    next
}

/^[ \t]*<!--\|.*-->$/ {
    if (!inside) fail(FNR, "a kept line (<!--|) outside of a region")
    sub(/<!--\| ?/, "")
    sub(/ ?-->$/, "")
    out($0)
    next
}

/\/\/\||<!--\|/ { fail(FNR, "a kept line's mark must come first on its line (and close on it)") }

inside { next }
{ out($0) }

END { if (!failed && inside) fail(inside, "BEGIN SOLUTION without an END") }
