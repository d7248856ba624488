#!/bin/sh
# bare.sh SUITE [TARBALL]: the documents, the packages and the bindings work on a bare Debian: in a
# root that mmdebstrap makes, with nothing but what a step names. Needs root, and the network for
# Debian's packages. TARBALL: that of `make dist`, which is made otherwise. tests/bare_inside.sh has
# the steps; build-roots/SUITE.log has their output.
set -eu

suite=$1
here=$(cd "$(dirname "$0")" && pwd)
roots=$PWD/build-roots
root=$roots/$suite-bare
log=$roots/$suite.log

"$here/deps.sh" deps-root
if [ -n "${2:-}" ]; then
    tarball=$2
else
    ${MAKE:-make} -s dist
    tarball=$(ls -t build/holdfast-*.tar.gz | head -n 1)
fi
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
    awk '$2 !~ /security/ && $1 ~ /debian/ { print $1; exit }')
mkdir -p "$roots"
# The empty root is made once for each suite and month, and unpacked for each run.
base=$roots/$suite-$(date +%Y%m).tar
if [ ! -e "$base" ]; then
    rm -f "$roots/$suite"-*.tar
    mmdebstrap --quiet --variant=minbase --format=tar --include=adduser,ca-certificates \
        "$suite" "$base.new" "$mirror"
    mv "$base.new" "$base"
fi
rm -rf "$root"
mkdir "$root"
# The root's own devices come from this machine.
tar -xpf "$base" -C "$root" --exclude='./dev/*'
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp "$tarball" "$root/root/"
cp "$here/bare_inside.sh" "$root/root/"

# A process table, /dev/pts and /tmp of its own: nothing that it starts outlives it.
if timeout "${BARE_TIME:-3600}" unshare --mount --pid --fork --kill-child sh -euc '
    mount --make-rprivate /
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
    mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
        LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 JOBS="$2" sh /root/bare_inside.sh' \
    sh "$root" "${JOBS:-$(nproc)}" >"$log" 2>&1
then
    grep '^== \|^skipped' "$log"
    rm -rf "$root"
    echo "bare: $suite: everything works"
else
    grep '^== ' "$log" >&2 || :
    tail -n 40 "$log" >&2
    echo "bare: $suite: NOT SO, see $log; the root is $root" >&2
    exit 1
fi
