#!/usr/bin/env bash
# deps.sh build|demo|test|foreign: says which Debian or Ubuntu packages are missing and installs them.
#
# As root it installs. Without root it prints the one command to ask for and goes on with what there is; only a missing
# compiler or library stops it (exit 2), because then nothing can be built. packages.txt beside it is the list.
# For `test` it also makes build/venv, with the Python packages of requirements-test.txt; for `foreign` (make check-all)
# build/venv-foreign as well, with the engines that our figures are compared with: 6 GB and a quarter of an hour.
set -u
level=${1:-build}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
case $level in
build) levels='build' ;;
demo) levels='build demo' ;;
test | foreign) levels='build demo test' ;;
*)
    echo "deps.sh: '$level' is no level; choose build, demo, test or foreign" >&2
    exit 2
    ;;
esac

present() { # present KIND:WHAT
    local what=${1#*:} one
    case $1 in
    cmd:*)
        for one in ${what//|/ }; do command -v "$one" >/dev/null && return 0; done
        return 1
        ;;
    h:*) [ -e "/usr/include/$what" ] || compgen -G "/usr/include/*-linux-gnu*/$what" >/dev/null ;;
    f:*) [ -e "/usr/share/fonts/$what" ] ;;
    py:*) [ -x /usr/bin/python3 ] && /usr/bin/python3 -c "import $what" 2>/dev/null ;;
    esac
}

missing=() missing_build=()
find_missing() {
    missing=() missing_build=()
    local l how package why
    while read -r l how package why; do
        case " $levels " in *" $l "*) ;; *) continue ;; esac
        present "$how" && continue
        missing+=("$package")
        [ "$l" = build ] && missing_build+=("$package")
        [ "${1:-}" = say ] && printf '  missing: %-22s %s\n' "$package" "$why"
    done < <(grep -vE '^(#|$)' "$here/packages.txt")
}

# apt prints thousands of lines; keep them in a log and show that something is going on
apt_install() { # apt_install PACKAGE...
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1
}

install_missing() {
    log=$(mktemp)
    echo "installing ${missing[*]} (a minute or two)"
    apt-get update >>"$log" 2>&1
    if ! apt_install "${missing[@]}"; then
        # one package that this system doesn't have must not keep the others away
        for p in "${missing[@]}"; do
            apt_install "$p" || echo "  $p can't be installed here; the reason stands in $log"
        done
    else
        rm -f "$log"
    fi
}

find_missing say
if [ ${#missing[@]} -gt 0 ]; then
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        install_missing
        find_missing
    else
        echo "Ask for:  sudo apt-get install -y ${missing[*]}"
    fi
fi
if [ ${#missing_build[@]} -gt 0 ]; then
    echo "Nothing can be built without: ${missing_build[*]}" >&2
    exit 2
fi
[ ${#missing[@]} -eq 0 ] || echo "going on without: ${missing[*]}"

# ---- Python packages, in a folder of our own ------------------------------------------------------------------------
make_venv() { # make_venv FOLDER REQUIREMENTS
    local venv=$top/build/$1 list=$here/$2 want python=/usr/bin/python3
    want=$(sha256sum "$list" | cut -d' ' -f1)
    [ "$(cat "$venv/.made-from" 2>/dev/null)" = "$want" ] && return
    echo "making build/$1 with the Python packages of $2"
    rm -rf "$venv"
    mkdir -p "$top/build"
    [ -x $python ] || python=python3
    if $python -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check -r "$list"; then
        echo "$want" >"$venv/.made-from"
    else
        rm -rf "$venv"
        echo "build/$1 could not be made: the tests that compare with Python packages will say that they can't run"
    fi
}
case $level in
test) make_venv venv requirements-test.txt ;;
foreign)
    make_venv venv requirements-test.txt
    make_venv venv-foreign requirements-foreign.txt
    ;;
esac
