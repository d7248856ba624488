#!/bin/sh
# cpp.sh BUILD: holdfast.hpp compiles as C++17 without a warning with g++ and clang++, keeps its
# promises on a real server (mutex.cpp), the README's program in C++ takes a lock with it, and the
# coroutines of examples/coroutine.cpp (C++20) take turns.
set -eu

build=$1
here=tests/embed
out=$build/embed/cpp
mkdir -p "$out"
. tests/embed/server.sh

start_server

libraries='-lssl -lcrypto'
[ -e "$build/tls-yes" ] || libraries=

awk '/^```cpp$/ { on = 1; next } /^```$/ && on { exit } on' README.md |
    sed "s|redis://127.0.0.1:6379|unix://$folder/sock|" >"$out/page.cpp"
[ -s "$out/page.cpp" ] || fail 'the README has a program in C++'

# compile PROGRAM COMPILER SOURCE...: as C++ of `standard`.
standard=c++17
compile() {
    program=$out/$1 compiler=$2
    shift 2
    "$compiler" "-std=$standard" -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -O1 -pthread \
        -I"$build/include" "$@" "$build/libholdfast.a" -o "$program" $libraries ||
        fail "$compiler compiles $* without a warning"
}

# Two files include the header in one program.
echo '#include <holdfast/holdfast.hpp>' >"$out/second.cpp"
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { echo "skipped: cpp with $compiler"; continue; }
    redis-cli -s "$folder/sock" flushall >/dev/null
    compile mutex $compiler $here/mutex.cpp "$out/second.cpp"
    "$out/mutex" "$folder/sock" || fail "$compiler: mutex.cpp ends well"
    compile page $compiler "$out/page.cpp"
    [ "$("$out/page")" = mine ] || fail "$compiler: the README's program takes its lock"
    standard=c++20
    compile coroutine $compiler examples/coroutine.cpp
    "$out/coroutine" "unix://$folder/sock" tasks 5 >"$out/tasks" ||
        fail "$compiler: the coroutines take turns"
    [ "$(grep -c 'begins$' "$out/tasks")" = 5 ] && [ "$(grep -c 'ends$' "$out/tasks")" = 5 ] ||
        fail "$compiler: each coroutine had the lock once"
    standard=c++17
    echo "cpp: $compiler: no warning; holdfast.hpp does what it says"
done
