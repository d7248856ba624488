#!/bin/sh
# cpp.sh BUILD: holdfast.hpp compiles as C++17 without a warning with g++ and clang++, keeps its
# promises on a real server (mutex.cpp), and the README's program in C++ takes a lock with it.
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

# compile PROGRAM COMPILER SOURCE...
compile() {
    program=$out/$1 compiler=$2
    shift 2
    "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -O1 -pthread \
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
    echo "cpp: $compiler: no warning; holdfast.hpp does what it says"
done
