#!/usr/bin/env bash
# deps.sh build|demo|fleet|test|ci|foreign|clients: installs the missing Debian or Ubuntu packages of that level (packages.txt).
#
# As root it installs. Otherwise it prints the command that does, and goes on. Exit status 2: a compiler or library is
# missing, so that nothing can be built; in every other case 0.
# `test` also makes build/venv, with the Python packages of requirements-test.txt. `foreign` (make check-all) also makes
# build/venv-foreign, with the engines that our figures are compared with: 6 GB and a quarter of an hour. `clients` (make
# check-all) also makes build/venv-clients (1 GB) and build/venv-clients-torch (10 GB), with other people's clients.
set -u
level=${1:-build}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
case $level in
build) levels='build' ;;
demo) levels='build demo' ;;
fleet) levels='build demo fleet' ;;
test | clients) levels='build demo test' ;;
foreign) levels='build demo fleet test' ;;
ci) levels='build demo test ci' ;;
*)
    echo "deps.sh: the level '$level' is unknown; choose build, demo, fleet, test, ci, foreign or clients" >&2
    exit 2
    ;;
esac

main() {
    find_missing say
    if [ ${#missing[@]} -gt 0 ]; then
        if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
            install_missing
            find_missing
        else
            echo "To install them:  sudo apt-get install -y --no-install-recommends ${missing[*]}"
        fi
    fi
    if [ ${#missing_build[@]} -gt 0 ]; then
        echo "Nothing can be built without: ${missing_build[*]}" >&2
        exit 2
    fi
    [ ${#missing[@]} -eq 0 ] || echo "going on without: ${missing[*]}"
    case $level in
    test | ci) make_venv venv requirements-test.txt ;;
    foreign)
        make_venv venv requirements-test.txt
        make_venv venv-foreign requirements-foreign.txt
        ;;
    clients)
        make_venv venv requirements-test.txt
        make_venv venv-clients requirements-clients.txt
        make_venv venv-clients-torch requirements-clients-torch.txt
        ;;
    esac
}

# ---- packages of the system ------------------------------------------------------------------------------------------

present() { # present KIND:WHAT, as packages.txt explains
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
find_missing() { # find_missing [say]: sets both lists; `say` prints them with what needs each
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

apt_install() { # apt_install PACKAGE...: apt prints thousands of lines; they go to $log
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1
}

install_missing() {
    local package before reason failed=0
    log=$(mktemp)
    echo "installing ${missing[*]} (a minute or two)"
    apt-get update >>"$log" 2>&1 || echo "  'apt-get update' failed; the package lists may be old or missing"
    if ! apt_install "${missing[@]}"; then
        # one by one: a package that this system doesn't have must not keep the others away
        for package in "${missing[@]}"; do
            before=$(wc -l <"$log")
            apt_install "$package" && continue
            reason=$(tail -n "+$((before + 1))" "$log" | grep '^E: ' | head -1)
            echo "  $package was not installed by 'apt-get install $package': ${reason:-see the log}"
            failed=1
        done
    fi
    if [ $failed = 1 ]; then echo "  the whole log: $log"; else rm -f "$log"; fi
}

# ---- Python packages, in build/ --------------------------------------------------------------------------------------

make_venv() { # make_venv FOLDER REQUIREMENTS
    local venv=$top/build/$1 list=$here/$2 want python=/usr/bin/python3
    want=$(sha256sum "$list" | cut -d' ' -f1)
    [ "$(cat "$venv/.made-from" 2>/dev/null)" = "$want" ] && return
    echo "making build/$1 with the Python packages of common/setup/$2"
    rm -rf "$venv"
    mkdir -p "$top/build"
    [ -x $python ] || python=python3
    if $python -m venv "$venv" &&
        "$venv/bin/pip" install -q --disable-pip-version-check --retries 2 -r "$list" 2>"$venv/pip.log"; then
        echo "$want" >"$venv/.made-from"
        return
    fi
    grep -h '^ERROR' "$venv/pip.log" 2>/dev/null | head -2 | sed 's/^/  /'
    rm -rf "$venv"
    echo "  build/$1 was not made by 'pip install -r common/setup/$2'; the tests that compare with those packages are skipped"
}

main
