#!/bin/sh
# sizes.sh BUILD: prints three sizes in bytes, and fails if one is above its bound in sizes.txt:
#   shared        libholdfast.so as built, without symbols
#   amalgamation  code and data of holdfast.c with TLS
#   plain         code and data of the README's example, which has a plain lock only, with
#                 holdfast.c linked into it: no TLS, unused functions left out
# The latter two with -Os, and without tables for unwinding. It also fails if a program that calls
# hf_lock_new contains another kind of lock.
set -eu

build=$1
here=tests/embed
out=$build/embed/sizes
mkdir -p "$out"
failed=0
lean='-std=c11 -Os -fno-asynchronous-unwind-tables -pthread'

code_and_data() { size "$1" | awk 'NR == 2 { print $1 + $2 }'; }

sizes() {
    strip -o "$out/libholdfast.so" "$build/libholdfast.so"
    echo shared $(wc -c <"$out/libholdfast.so")
    gcc $lean -DHF_TLS -c "$build/amalgamation/holdfast.c" -o "$out/tls.o"
    echo amalgamation "$(code_and_data "$out/tls.o")"
    sed 's|<holdfast/holdfast.h>|"holdfast.h"|' examples/hold.c >"$out/hold.c"
    gcc $lean -ffunction-sections -fdata-sections -Wl,--gc-sections \
        -I"$build/amalgamation" "$out/hold.c" "$build/amalgamation/holdfast.c" -o "$out/hold"
    echo plain "$(code_and_data "$out/hold")"
}

sizes >"$out/measured"
while read -r what bytes; do
    most=$(awk -v what="$what" '$1 == what { print $2 }' $here/sizes.txt)
    echo "sizes: $what: $bytes bytes, at most ${most:?$what is missing in $here/sizes.txt}"
    [ "$(uname -m)" = x86_64 ] || continue
    [ "$bytes" -le "$most" ] || { echo "sizes: $what is too large" >&2; failed=1; }
done <"$out/measured"
others=$(nm "$out/hold" | awk '$2 ~ /[DdRr]/ && /hf_kind_/ && $3 != "hf_kind_reentrant" { print $3 }')
[ -z "$others" ] || { echo "sizes: plain contains other kinds:" $others >&2; failed=1; }
[ "$(uname -m)" = x86_64 ] || echo 'skipped: the bounds on sizes (for x86-64)'
exit $failed
