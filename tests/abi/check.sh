#!/bin/sh
# check.sh BUILD CC: the binary interface is the recorded one (layout.txt), and programs that were
# compiled with older and newer headers run with this library as docs/abi.md says (program.c).
# With abidiff, the library is also compared with the recorded one (abidiff.sh).
set -eu

build=$1
cc=$2
here=tests/abi
out=$build/abi
mkdir -p "$out"
. tests/embed/server.sh

$here/layout.sh "$build" "$cc"

start_server
soname=libholdfast.so.$(sed -n 's/^SOVERSION := //p' Makefile)
ln -sf ../libholdfast.so "$out/$soname"
for version in older same newer; do
    headers=$build/include
    define=-D$(echo $version | tr a-z A-Z)
    if [ $version != same ]; then
        headers=$out/$version
        rm -rf "$headers"
        $here/version.pl $version "$build/include/holdfast" "$headers/holdfast"
    fi
    # shellcheck disable=SC2086 # words
    $cc -std=c11 -Wall -Wextra -Werror $define -I"$headers" $here/program.c \
        "$build/libholdfast.so" -o "$out/program-$version" ||
        fail "a program compiles with the $version headers"
    LD_LIBRARY_PATH=$out "$out/program-$version" "unix://$folder/sock" ||
        fail "a program of the $version version runs"
done
if command -v python3 >/dev/null; then
    python3 $here/binding.py "$out/$soname" "unix://$folder/sock" ||
        fail 'a binding that reads no header sets options by name'
else
    echo 'skipped: abi with ctypes (python3 is not installed)'
fi
echo 'abi: programs of an older and a newer version run with this library'

$here/abidiff.sh "$build"
