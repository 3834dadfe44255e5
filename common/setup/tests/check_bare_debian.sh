#!/usr/bin/env bash
# check_bare_debian.sh: README's two commands, `make demo` and `make test`, in a fresh minimal Debian: debootstrap's minbase
# in a chroot without name spaces, pseudo-terminals or a Python index. What the chroot lacks must be an allowed skip.
#
# Needs root, debootstrap, 4 GB in TMPDIR, and the Debian mirror that this machine's apt uses. Takes half an hour or more.
# KEEP=1 keeps the chroot and names it. Prints TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 4
n=0 failed=0 root=''

report() { # report STATUS NAME [FILE to show]
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else
        failed=1
        echo "not ok $n - $2"
        [ $# -lt 3 ] || tail -40 "$3" | sed 's/^/# /'
    fi
}
skip() {
    echo "ok 1 - README's commands in a minimal Debian # SKIP $1"
    echo "1..1"
    exit 0
}
leave() {
    local status=$?
    trap - EXIT INT TERM
    [ -n "$root" ] || exit "$status"
    umount "$root/proc" 2>/dev/null || umount -l "$root/proc" 2>/dev/null
    if [ "${KEEP:-0}" = 1 ]; then echo "# kept: $root"; else rm -rf --one-file-system "$root"; fi
    exit "$status"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

[ "$(id -u)" = 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "needs debootstrap: apt-get install debootstrap"
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk -v release="$release" '$1 == release && $2 == "main" { print $3; exit }')
[ -n "$mirror" ] || skip "needs a Debian mirror: apt's sources name none for '$release'"

root=$(mktemp -d "${TMPDIR:-/tmp}/servelab-bare-XXXXXX")
chmod 755 "$root"
debootstrap --variant=minbase "$release" "$root" "$mirror" >"$root.log" 2>&1
made=$?
mv "$root.log" "$root/debootstrap.log"
report $made "debootstrap makes a minimal $release" "$root/debootstrap.log"
[ $made = 0 ] || { echo "1..$n"; exit 1; }
cp /etc/resolv.conf /etc/hosts "$root/etc/"
apt-config dump | grep -E '^Acquire::https?::Proxy' >"$root/etc/apt/apt.conf.d/00proxy"
mount -t proc proc "$root/proc"
mkdir -p "$root/root/servelab"
git ls-files -co --exclude-standard -z | tar -c --null -T - | tar -x -C "$root/root/servelab"

# Without CAP_SYS_ADMIN there are no name spaces; in a chroot there are none for others either.
inside() { # inside COMMAND: in the chroot, in the copy of the tree
    chroot "$root" setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LANG=C.UTF-8 PIP_INDEX_URL=http://127.0.0.1:9/ JOBS="${JOBS:-$(nproc)}" ${http_proxy:+http_proxy=$http_proxy} \
        bash -c "cd /root/servelab && $1" </dev/null
}
command_of() { # command_of TARGET: as README gives it
    awk -v target="make $1" '/^```/ { inside = !inside; next } inside && index($0, target) { print; exit }' README.md
}

inside "$(command_of demo)" >"$root/demo.log" 2>&1
report $? "make demo" "$root/demo.log"
inside "$(command_of test)" >"$root/test.log" 2>&1
report $? "make test: $(grep -E '^[0-9]+ passed, ' "$root/test.log" | tail -1)" "$root/test.log"
inside "! unshare -m true 2>/dev/null && command -v python3 >/dev/null && ! python3 -c 'import os; os.openpty()' 2>/dev/null"
report $? "it has neither name spaces nor pseudo-terminals"
cp "$root"/*.log build/ 2>/dev/null
echo "1..$n"
exit $failed
