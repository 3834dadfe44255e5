# steps.sh: named steps of a long check, one after the other; to be sourced by a script in bash.
#
#   step NAME COMMAND...   runs it, shows its output, goes on after a failure. ONLY=NAME chooses one step.
#   steps_end              a table of results and times, then the last line "N passed, N failed, N skipped" over all
#                          steps; returns 1 when something failed
#
# A step whose last line, but for those of make itself, is "N passed, N failed, N skipped" adds those numbers. Any other counts as one: passed on exit
# status 0, skipped on 77 when .ci/allowed-skips has "step NAME: its last line # SKIP", failed otherwise.
# Outputs are kept in build/steps.

steps_names=() steps_results=() steps_passed=0 steps_failed=0 steps_skipped=0 steps_began=$SECONDS
mkdir -p build/steps

step() { # step NAME COMMAND...
    local name=$1 log=build/steps/$1.log began=$SECONDS status last p=0 f=0 s=0
    shift
    [ -z "${ONLY:-}" ] || [ "$ONLY" = "$name" ] || return 0
    printf '\n==== %s: %s\n' "$name" "$*"
    "$@" 2>&1 </dev/null | tee "$log"
    status=${PIPESTATUS[0]}
    last=$(grep . "$log" | grep -v '^make\(\[[0-9]*\]\)\?: ' | tail -1)
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]}
        [ "$status" = 0 ] || [ "$f" != 0 ] || f=1
    elif [ "$status" = 0 ]; then
        p=1
    elif [ "$status" = 77 ] && steps_may_skip "step $name: $last # SKIP"; then
        s=1
    else
        f=1
    fi
    steps_add "$name" $p $f $s $((SECONDS - began))
}

steps_add() { # steps_add NAME PASSED FAILED SKIPPED SECONDS
    steps_passed=$((steps_passed + $2)) steps_failed=$((steps_failed + $3)) steps_skipped=$((steps_skipped + $4))
    steps_names+=("$1")
    steps_results+=("$(printf '%6d passed %4d failed %4d skipped %4d min %02d s' "$2" "$3" "$4" $(($5 / 60)) $(($5 % 60)))")
}

steps_may_skip() {
    local pattern reason
    while IFS=$'\t' read -r pattern reason; do
        case $pattern in '' | '#'*) continue ;; esac
        [ -n "$reason" ] && grep -qE -- "$pattern" <<<"$1" && return 0
    done <.ci/allowed-skips
    return 1
}

steps_end() {
    local i took=$((SECONDS - steps_began))
    printf '\n'
    for i in "${!steps_names[@]}"; do printf '%-14s %s\n' "${steps_names[i]}" "${steps_results[i]}"; done
    printf '%d min %02d s in all; outputs are in build/steps\n' $((took / 60)) $((took % 60))
    if [ ${#steps_names[@]} = 0 ]; then
        echo "no step is called '${ONLY:-}'"
        steps_failed=1
    fi
    echo "$steps_passed passed, $steps_failed failed, $steps_skipped skipped"
    [ $steps_failed = 0 ]
}

# Ctrl-C ends the step that runs and then this script, with the table of what was done.
trap 'steps_end; exit 130' INT
trap 'steps_end; exit 143' TERM
