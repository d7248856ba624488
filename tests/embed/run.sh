#!/bin/sh
# run.sh BUILD: makes the pair hf_resp.h and hf_resp.c in BUILD/embed and holds
# it to what docs/embedding-resp.md says: no warning as C11 and C++17, what it
# needs of libc, its size, its stack, no recursion; and runs the two programs
# beside this file and the one on that page.
set -eu

here=tests/embed
out=$1/embed
failed=0

# Bytes at -O2 on x86-64: all objects of libhf_resp.a, constants included; and
# machine code of the pair, where a user's flags add unwind tables.
objects_max=16384
code_max=16384
# What it may need: <string.h>, strtod, and what compilers put in its place.
# clang writes bcmp for a memcmp that only asks for equality.
allowed='memchr memcmp memcpy memmove memset strlen strtod bcmp
    __stack_chk_fail _GLOBAL_OFFSET_TABLE_'

warn='-Wall -Wextra -Wshadow -Wpedantic -Wconversion -Wvla -Walloca -Werror'
as_c="-std=c11 -Wstrict-prototypes -Wmissing-prototypes $warn"
as_cpp="-x c++ -std=c++17 $warn"

have() { command -v "$1" >/dev/null; }

no() {
    echo "embed: NOT SO: $*" >&2
    failed=1
}

# FILE.o: everything undefined in it stands on the list.
needs() {
    alien=$(nm -u "$1" | awk -v allowed="$allowed" '
        BEGIN { n = split(allowed, names); while (n) ok[names[n--]] }
        !($NF in ok) { print $NF }')
    [ -z "$alien" ] || no "$1 needs no more than <string.h> and strtod:" $alien
}

# COMPILER FLAGS...: the pair compiles so, and needs nothing more.
pair() {
    have "$1" || { echo "skipped: embed with $1"; return 0; }
    for optimised in -O0 -Os '-O2 -fPIC -fstack-protector-strong' -O2; do
        "$@" $optimised -U_FORTIFY_SOURCE -c "$out/hf_resp.c" -o "$out/pair.o" ||
            { no "$* $optimised compiles"; return 0; }
        needs "$out/pair.o"
    done
    echo "embed: pair, $1: no warning; needs" \
        $(nm -u "$out/pair.o" | awk '{print $NF}')
}

# COMPILER PAIR.o SOURCE FLAGS...: a program of the pair and one file.
program() {
    with=$1 pair=$2 source=$3
    shift 3
    have "$with" || { echo "skipped: ${source##*/} with $with"; return 0; }
    "$with" "$@" -O1 -I"$out" -c "$source" -o "$out/program.o" &&
        "$with" "$out/program.o" "$pair" -o "$out/program" &&
        "$out/program" >"$out/program.out" ||
        { no "${source##*/}, $with, compiles and runs"; return 0; }
    echo "embed: ${source##*/}, $with, with ${pair##*/}: runs"
}

# Two objects of the pair for the programs, one as each language would have it.
objects() {
    gcc -O2 -std=c11 -c "$out/hf_resp.c" -o "$out/c.o"
    if have g++; then
        g++ -O2 -x c++ -std=c++17 -c "$out/hf_resp.c" -o "$out/cpp.o"
    fi
}

exports_nothing() {
    gcc -std=c11 -fvisibility=hidden -fPIC -shared "$out/hf_resp.c" \
        -o "$out/pair.so"
    alien=$(nm -D --defined-only "$out/pair.so" | awk '{print $3}')
    [ -z "$alien" ] ||
        no "a library built with -fvisibility=hidden exports none:" $alien
}

version_is_a_version() {
    grep -qE '^#define HF_RESP_VERSION "[0-9]+\.[0-9]+\.[0-9]+"$' "$out/hf_resp.h" ||
        no "HF_RESP_VERSION is a version: $(grep HF_RESP_VERSION "$out/hf_resp.h")"
}

# A parser, and nothing of what holdfast does with it.
words_are_its_own() {
    alien=$(grep -owiE 'locks?|replicas?|holder|TLS' "$out/hf_resp.h" \
        "$out/hf_resp.c" | sort -u)
    [ -z "$alien" ] || no "the pair speaks of bytes and values alone:" $alien
}

# The column holds code, constants and unwind tables together.
size_is_small() {
    gcc -std=c11 -Os -c "$out/hf_resp.c" -o "$out/small.o"
    text=$(size "$out/c.o" | awk 'NR == 2 {print $1}')
    code=$(size -A "$out/c.o" | awk '/^\.text/ {n += $2} END {print n}')
    small=$(size "$out/small.o" | awk 'NR == 2 {print $1}')
    data=$(size "$out/c.o" | awk 'NR == 2 {print $2 + $3}')
    echo "embed: size: text $text bytes, of it $code machine code; $small" \
        "with -Os; data and bss $data"
    [ "$data" = 0 ] || no "no variable outlives a call"
    [ "$(uname -m)" = x86_64 ] ||
        { echo "skipped: the bound on the size (for x86-64)"; return 0; }
    [ "$code" -le $code_max ] || no "code is at most $code_max bytes: $code"
}

# As the Makefile builds them.
objects_are_small() {
    [ "$(uname -m)" = x86_64 ] || return 0
    ${MAKE:-make} -s BUILD="$out/objects" CC=gcc CFLAGS=-O2 \
        "$out/objects/libhf_resp.a"
    all=$(size -t "$out/objects/libhf_resp.a" | awk 'END {print $4}')
    echo "embed: size: $all bytes in the objects of libhf_resp.a"
    [ "$all" -le $objects_max ] || no "objects: at most $objects_max bytes: $all"
}

# gcc says `dynamic,bounded` where arguments pushed for a call move the stack
# pointer: the number is an upper bound. `dynamic` alone would be an array of
# variable length or alloca.
stack_is_bounded() {
    gcc -O2 -std=c11 -fstack-usage -fcallgraph-info=su -c "$out/hf_resp.c" \
        -o "$out/stack.o"
    dynamic=$(awk '$NF == "dynamic"' "$out/stack.su")
    [ -z "$dynamic" ] || no "no stack of unknown size: $dynamic"
    sort -k2,2n "$out/stack.su" | tail -1 |
        awk '{n = split($1, at, ":"); print "embed: stack: the largest frame:",
              $2, "bytes,", at[n]}'
    awk -f $here/deepest.awk "$out/stack.ci"
}

# From the compiler's own call graph, before it inlines (which could turn
# recursion into a loop): nothing is called through a pointer, and tsort can
# order it. tsort passes over a function that calls itself; awk does not.
calls_end() {
    gcc -O0 -std=c11 -fcallgraph-info -c "$out/hf_resp.c" -o "$out/calls.o"
    awk -F'"' '/^edge:/ {print $2, $4}' "$out/calls.ci" >"$out/calls"
    [ -s "$out/calls" ] || no "gcc wrote a call graph"
    through=$(grep __indirect_call "$out/calls" || :)
    [ -z "$through" ] || no "nothing is called through a pointer: $through"
    self=$(awk '$1 == $2 {print $1}' "$out/calls")
    [ -z "$self" ] || no "no function calls itself: $self"
    tsort "$out/calls" >"$out/order" 2>"$out/loop" ||
        no "no recursion:" $(cat "$out/loop")
    echo "embed: $(awk '{print $1}' "$out/calls" | sort -u | wc -l) functions" \
        "call others; their graph has no loop"
}

# The first C program of the page, as its reader would copy it.
page_program() {
    awk '/^```c$/ {on = 1; next} /^```$/ && on {exit} on' \
        docs/embedding-resp.md >"$out/page.c"
    [ -s "$out/page.c" ] || { no "the page has a program"; return 0; }
    program gcc "$out/c.o" "$out/page.c" $as_c
}

mkdir -p "$out"
resp/amalgamate.sh "$out"
pair gcc $as_c
pair clang $as_c
pair g++ $as_cpp
pair clang++ $as_cpp
if ! gcc -std=c11 -c "$out/hf_resp.c" -o "$out/pair.o"; then
    exit 1
fi
objects
program gcc "$out/c.o" $here/embed.c $as_c
program clang "$out/c.o" $here/embed.c $as_c
program g++ "$out/c.o" $here/embed.cpp $as_cpp
program g++ "$out/cpp.o" $here/embed.cpp $as_cpp
program clang++ "$out/cpp.o" $here/embed.cpp $as_cpp
page_program
exports_nothing
version_is_a_version
words_are_its_own
size_is_small
objects_are_small
stack_is_bounded
calls_end
exit $failed
