#!/bin/sh
# install.sh MAKE...: what `make install` writes can be read by everyone, whatever the
# umask is.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
umask 077
"$@" --no-print-directory install DESTDIR="$dir/root" >"$dir/log" 2>&1 ||
    { cat "$dir/log" >&2; exit 1; }
hidden=$(find "$dir/root" -mindepth 1 ! -type l ! -perm -a=r)
[ -z "$hidden" ] || { echo "not readable by everyone:" $hidden >&2; exit 1; }
[ -s "$dir/root/usr/local/lib/pkgconfig/holdfast.pc" ] ||
    { echo "holdfast.pc is not installed" >&2; exit 1; }
