#!/bin/sh
# deps.sh TARGET...: installs the Debian packages that the targets need, or says which are missing.
# Only root, or a user who sets SUDO (SUDO=sudo), has packages installed.
# deps.sh --list TARGET... prints their names.
set -eu

list=
if [ "${1:-}" = --list ]; then
    list=yes
    shift
fi
[ $# -gt 0 ] || set -- ''
packages=
for what; do
    case $what in
    deps)
        want='gcc make pkg-config check libhiredis-dev libevent-dev libssl-dev
            libuv1-dev liblua5.1-0-dev openssl redis-server redis-tools locales haproxy mandoc' ;;
    deps-demo) want=redis-server ;;
    deps-bench) want='libev-dev libhiredis-dev libuv1-dev openssl redis-server' ;;
    deps-coverage) want='clang-19 libclang-rt-19-dev llvm-19 jq' ;;
    deps-embed) want='gcc g++ clang' ;;
    deps-i386) want='gcc-i686-linux-gnu libc6-dev-i386-cross' ;;
    deps-armhf)
        want='gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user' ;;
    deps-s390x) want='gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user' ;;
    deps-musl) want='gcc musl-tools' ;;
    deps-python)
        want='gcc python3-cffi python3-dev python3-pip python3-pytest python3-setuptools
            python3-wheel' ;;
    deps-html) want='mandoc pandoc' ;;
    deps-packages) want='cmake pkg-config fish zsh' ;;
    deps-fuzz) want='clang libclang-rt-14-dev afl++ zip' ;;
    deps-valgrind) want=valgrind ;;
    deps-fencing) want='postgresql sqlite3' ;;
    deps-root) want='mmdebstrap util-linux' ;;
    deps-terminal) want='redis-server redis-tools tmux' ;;
    *) echo "usage: $0 deps|deps-WHAT..." >&2; exit 2 ;;
    esac
    packages="$packages $want"
done

if [ -n "$list" ]; then
    echo $packages
    exit 0
fi

missing=
for p in $packages; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
        missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "not Debian: install what these packages hold:$missing" >&2
    exit 1
fi
as=
[ "$(id -u)" = 0 ] || as=${SUDO:-}
if [ -z "$as" ] && [ "$(id -u)" != 0 ]; then
    echo "missing:$missing" >&2
    echo "as root: apt-get install$missing" >&2
    echo "or let make do that: SUDO=sudo make ..." >&2
    exit 1
fi
echo "installing:$missing"
# A server installed for tests is not a service: it is neither started now
# (RUNLEVEL=1), nor at boot (below). By env, because sudo drops the environment.
as="$as env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1"
if ! { $as apt-get update -qq &&
       $as apt-get install -y -qq --no-install-recommends $missing; } \
       >/dev/null; then
    echo "could not install; do it by hand: apt-get install$missing" >&2
    exit 1
fi
case $missing in
*' redis-server'*) $as update-rc.d redis-server disable >/dev/null ;;
*' postgresql'*) $as update-rc.d postgresql disable >/dev/null ;;
esac
case $missing in
*' haproxy'*) $as update-rc.d haproxy disable >/dev/null ;;
esac
