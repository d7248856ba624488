#!/bin/sh
# install.sh MAKE...: what `make install` writes can be read by everyone, whatever the
# umask is; the headers need nothing of the program and are not confused with its own; and
# `make uninstall` leaves no file. tests/build.sh links programs with an installation.
set -eu

dir=$(mktemp -d) tree=$PWD
trap 'rm -rf "$dir"' EXIT
umask 077
root=$dir/root usr=$dir/root/usr/local
fail() { echo "install: $*" >&2; exit 1; }
run() { "$@" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; fail "$*"; }; }

run "$@" --no-print-directory install DESTDIR="$root"
hidden=$(find "$root" -mindepth 1 ! -type l ! -perm -a=r)
[ -z "$hidden" ] || fail "not readable by everyone:" $hidden
[ -z "$(find -L "$root" -type l)" ] || fail "a link leads nowhere"
for program in holdfast holdfast-resp; do
    [ -x "$usr/bin/$program" ] && [ -s "$usr/share/man/man1/$program.1" ] ||
        fail "$program or its manual page is not installed"
done
for page in man3/holdfast.3 man3/holdfast-lock.3 man3/hf_lock_acquire.3 man7/holdfast-url.7; do
    [ -s "$usr/share/man/$page" ] || fail "the manual page $page is not installed"
done
[ "$(printf '+OK\r\n' | "$usr/bin/holdfast-resp" | tr -d ' ')" = '0simplestring"OK"' ] ||
    fail "the installed holdfast-resp does not decode RESP"
for file in lib/pkgconfig/holdfast.pc lib/pkgconfig/holdfast-resp.pc lib/libholdfast.so \
    lib/libhf_resp.a lib/libholdfast.a lib/cmake/holdfast/holdfast-config.cmake \
    share/bash-completion/completions/holdfast share/zsh/site-functions/_holdfast \
    share/fish/vendor_completions.d/holdfast.fish share/doc/holdfast/LICENSE share/doc/holdfast/docs/kinds.md \
    share/doc/holdfast/examples/hold.c share/doc/holdfast/examples/service/importer.service; do
    [ -s "$usr/$file" ] || fail "$file is not installed"
done
# The links of the documents lead to installed files.
links=0
for page in "$usr"/share/doc/holdfast/*.md "$usr"/share/doc/holdfast/docs/*.md; do
    for target in $(grep -o '](\([A-Za-z0-9_./-]*[./][A-Za-z0-9_./-]*\)' "$page" | cut -c 3-); do
        links=$((links + 1))
        [ -e "${page%/*}/$target" ] || fail "${page#"$usr/"}: its link to $target leads nowhere"
    done
done
[ "$links" -gt 100 ] && grep -q '](../../../include/holdfast/lock/lock.h)' \
    "$usr/share/doc/holdfast/README.md" || fail "README.md has no links to installed headers"
# The version is the same everywhere.
version=$("$usr/bin/holdfast" version | cut -d ' ' -f 2)
for file in "$usr/lib/pkgconfig/holdfast.pc" "$usr/lib/cmake/holdfast/holdfast-config-version.cmake" \
    "$usr/share/doc/holdfast/CHANGELOG.md"; do
    grep -m 1 '^Version: \|PACKAGE_VERSION "\|^## ' "$file" | grep -qF "$version" ||
        fail "$file does not begin with version $version"
done
[ -e "$usr/lib/libholdfast.so.$version" ] || fail "libholdfast.so.$version is not installed"
! grep -rn '@[A-Z_]*@' "$usr/lib/pkgconfig" "$usr/lib/cmake" >&2 || fail "a name was not replaced"

# Each header alone, in a program that has headers with the same paths and finds these first.
cd "$usr/include"
for header in $(find holdfast -name '*.h'); do
    own=$dir/own/${header#holdfast/}
    mkdir -p "${own%/*}" "$dir/alone"
    echo '#define OWN_HEADER 1' >"$own"
    {
        echo "#include <$header>"
        echo '#ifdef OWN_HEADER'
        echo "#error a header of the program was included"
        echo '#endif'
        echo "#include \"${header#holdfast/}\""
        echo '#ifndef OWN_HEADER'
        echo "#error a header of the program was not found"
        echo '#endif'
    } >"$dir/alone/$(echo "$header" | tr / _).c"
done
cd "$dir/alone"
run gcc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$dir/own" -I"$usr/include" ./*.c

# A C++ program may include everything, twice, and combine kinds.
if command -v g++ >/dev/null; then
    run g++ -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$usr/include" \
        -I"$dir/own" ./*.c
    cat >"$dir/program.cc" <<'CC'
#include <holdfast/holdfast.h>
#include <holdfast/holdfast.h>
#if __cplusplus >= 201703L
#include <holdfast/holdfast.hpp>
#include <holdfast/holdfast.hpp>
#endif
int main()
{
    hf_lock *lock = nullptr;
    hf_error err;

    return hf_lock_new_kind(&lock, nullptr, HF_KIND_FAIR | HF_WITH_TOKEN, "x", 1, &err);
}
CC
    for standard in c++11 c++17; do
        run g++ -std=$standard -Wall -Wextra -Werror -fsyntax-only -I"$dir/own" -I"$usr/include" \
            "$dir/program.cc"
    done
else
    echo "skipped: the headers in C++: no g++"
fi

# What others installed stays.
touch "$usr/lib/other.so" "$usr/share/man/man1/other.1"
cd "$tree"
run "$@" --no-print-directory uninstall DESTDIR="$root"
left=$(find "$root" ! -type d -o -iname '*holdfast*')
[ "$(echo "$left" | sort | tr '\n' ' ')" = "$usr/lib/other.so $usr/share/man/man1/other.1 " ] ||
    fail "uninstall leaves, or removes too much:" "$left"
