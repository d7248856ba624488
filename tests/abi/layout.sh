#!/bin/sh
# layout.sh BUILD CC [--record]: sizes and offsets of the public structs, and the values of the
# enumerators, are those of layout.txt. --record writes it.
set -eu

build=$1
cc=$2
here=tests/abi
out=$build/abi
mkdir -p "$out"

headers=$(sed -n 's/^HEADERS := //p' mk/lists.mk)
# shellcheck disable=SC2086 # words
(cd "$build/include/holdfast" && "$OLDPWD/$here/layout.pl" $headers) >"$out/layout.c"
$cc -I"$build/include" "$out/layout.c" -o "$out/layout"
case $(file -L "$out/layout" 2>/dev/null || uname -m) in
*x86-64* | x86_64) ;;
*) echo 'skipped: layout (layout.txt is of x86_64)'; exit 0 ;;
esac
"$out/layout" >"$out/layout.txt"
if [ "${3:-}" = --record ]; then
    cp "$out/layout.txt" $here/layout.txt
    exit 0
fi
diff $here/layout.txt "$out/layout.txt" || {
    echo 'abi: the headers have changed the binary interface: docs/abi.md says what may change;' >&2
    echo 'make abi-record writes tests/abi/layout.txt' >&2
    exit 1
}
