#!/bin/sh
# install.sh MAKE...: what `make install` writes can be read by everyone, whatever the
# umask is, and each command is there with its manual page.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
umask 077
"$@" --no-print-directory install DESTDIR="$dir/root" >"$dir/log" 2>&1 ||
    { cat "$dir/log" >&2; exit 1; }
hidden=$(find "$dir/root" -mindepth 1 ! -type l ! -perm -a=r)
[ -z "$hidden" ] || { echo "not readable by everyone:" $hidden >&2; exit 1; }
for program in holdfast holdfast-resp; do
    [ -x "$dir/root/usr/local/bin/$program" ] && [ -s "$dir/root/usr/local/share/man/man1/$program.1" ] ||
        { echo "$program or its manual page is not installed" >&2; exit 1; }
done
[ "$(printf '+OK\r\n' | "$dir/root/usr/local/bin/holdfast-resp" | tr -d ' ')" = '0simplestring"OK"' ] ||
    { echo "the installed holdfast-resp does not decode RESP" >&2; exit 1; }
[ -s "$dir/root/usr/local/lib/pkgconfig/holdfast.pc" ] ||
    { echo "holdfast.pc is not installed" >&2; exit 1; }

# A C++ program may include everything, twice, and combine kinds.
command -v g++ >/dev/null || { echo "skipped: the headers in C++: no g++"; exit 0; }
cat >"$dir/program.cc" <<'CC'
#include <holdfast/holdfast.h>
#include <holdfast/holdfast.h>
int main()
{
    hf_lock *lock = nullptr;
    hf_error err;

    return hf_lock_new_kind(&lock, nullptr, HF_KIND_FAIR | HF_WITH_TOKEN, "x", 1, &err);
}
CC
g++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I"$dir/root/usr/local/include" \
    -I"$dir/root/usr/local/include/holdfast" "$dir/program.cc"
