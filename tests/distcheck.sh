#!/bin/sh
# distcheck.sh TARBALL MAKE...: `make dist` writes the same bytes whatever the umask and the
# time zone are; what is in the tarball builds without the repository, by clang if it is there,
# passes the unit tests that read other files, and leaves no file after install and uninstall,
# nor after `make clean`. The tarball is the commit, and `make check` runs all tests of that.
set -eu
tarball=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "distcheck: $*" >&2; exit 1; }
run() { "$@" >"$dir/log" 2>&1 || { tail -n 30 "$dir/log" >&2; fail "$*"; }; }

(umask 022 && TZ=UTC run "$@" dist)
cp "$tarball" "$dir/first"
(umask 077 && TZ=Asia/Tokyo run "$@" dist)
cmp "$dir/first" "$tarball" || fail "the tarball is not the same twice"

tar -xzf "$tarball" -C "$dir"
cd "$dir"/holdfast-*/
find . | sort >"$dir/before"
# The repository's folder for built files does not count here, nor do those of git.
unset BUILD MAKEFLAGS MFLAGS MAKELEVEL GIT_DIR GIT_WORK_TREE
cc=$(command -v clang || echo cc)
run make -j"$(nproc)" CC="$cc" CFLAGS=-O0 WERROR=-Werror these-built LIVE= VECTORS= \
    UNIT='net_url resp_vectors judge judge_overlap judge_verdicts lock_metrics cli_metrics'
grep -q test_net_url "$dir/log" || fail "no unit test was built"
run make CC="$cc" CFLAGS=-O0 install DESTDIR="$dir/root" PREFIX=/usr
[ "$(find "$dir/root" ! -type d | wc -l)" -gt 60 ] || fail "almost nothing was installed"
run make CFLAGS=-O0 uninstall DESTDIR="$dir/root" PREFIX=/usr
left=$(find "$dir/root" ! -type d -o -iname '*holdfast*')
[ -z "$left" ] || fail "uninstall leaves:" $left
run make clean
find . | sort >"$dir/after"
diff "$dir/before" "$dir/after" >&2 || fail "make clean does not restore the tarball's files"
echo "distcheck: ${tarball##*/} builds, its unit tests pass, nothing is left"
