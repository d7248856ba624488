#!/bin/sh
# abidiff.sh BUILD [--record]: the shared library has the binary interface of
# libholdfast.abi.gz: types of parameters and results, which exports.txt and layout.txt do not
# have. New functions are no difference. --record writes the file.
set -eu

build=$1
recorded=tests/abi/libholdfast.abi.gz
out=$build/abi
mkdir -p "$out"

tool=abidiff
[ "${2:-}" != --record ] || tool=abidw
if ! command -v $tool >/dev/null; then
    echo "skipped: $tool is not installed (Debian: abigail-tools; others: libabigail)"
    exit 0
fi
case $(uname -m) in
x86_64) ;;
*) echo "skipped: $tool (libholdfast.abi.gz is of x86_64)"; exit 0 ;;
esac
if [ $tool = abidw ]; then
    abidw --headers-dir "$build/include/holdfast" --drop-private-types --no-corpus-path \
        --no-comp-dir-path --no-show-locs "$build/libholdfast.so" --out-file "$out/new.abi"
    gzip -9nc "$out/new.abi" >$recorded
    exit 0
fi

gzip -dc $recorded >"$out/recorded.abi"
abidiff --no-added-syms --headers-dir2 "$build/include/holdfast" --drop-private-types \
    "$out/recorded.abi" "$build/libholdfast.so" >"$out/difference" || {
    cat "$out/difference" >&2
    echo 'abi: the binary interface differs from the recorded one: docs/abi.md says what may' >&2
    echo "change; make abi-record writes $recorded" >&2
    exit 1
}
echo 'abi: abidiff finds no difference from the recorded library'
