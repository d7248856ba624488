#!/bin/sh
# root.sh SUITE [TARGET]: runs `make TARGET` (check) on the committed tree in a root of
# another Debian suite, such as trixie, which it makes in build-roots/SUITE (mmdebstrap)
# and keeps. Needs root. The root has its own /proc, /dev/pts and /tmp, and a process
# table of its own, so nothing that the tests start outlives it.
set -eu

suite=$1 target=${2:-check}
root=build-roots/$suite
here=$(dirname "$0")

"$here/deps.sh" deps-root
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
    awk '$2 !~ /security/ && $1 ~ /debian/ { print $1; exit }')
if [ ! -e "$root/.made" ]; then
    rm -rf "$root"
    mkdir -p build-roots
    mmdebstrap --quiet --variant=minbase \
        --include="$("$here/deps.sh" --list deps | tr ' ' ','),procps,iproute2,git" \
        "$suite" "$root" "$mirror"
    # A root of mmdebstrap has none; tests/run.sh needs the name localhost.
    printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
    : >"$root/.made"
fi
mkdir -p "$root/src"
find "$root/src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git archive HEAD | tar -x -C "$root/src"
# The tree's files get the time of the commit: what has not changed is not compiled again.
unshare --mount --pid --fork --kill-child sh -euc '
    mount --make-rprivate /
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts"
    mount -t tmpfs tmpfs "$1/tmp"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        TERM=dumb MAKEFLAGS="$3" make -C /src WERROR=-Werror "$2"' sh "$root" "$target" "-j$(nproc)"
