#!/bin/sh
# cpp.sh BUILD: holdfast.hpp compiles as C++17 without a warning with g++ and clang++, keeps its
# promises on a real server (mutex.cpp), and the README's program in C++ takes a lock with it.
set -eu

build=$1
here=tests/embed
out=$build/embed/cpp
mkdir -p "$out"
server='' folder=$(mktemp -d)
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    wait 2>/dev/null || :
    rm -rf "$folder"
}
trap finish EXIT
fail() { echo "cpp: NOT SO: $*" >&2; exit 1; }

redis-server --port 0 --unixsocket "$folder/sock" --save '' --appendonly no \
    --dir "$folder" >"$folder/log" &
server=$!
until grep -qi 'ready to accept' "$folder/log" 2>/dev/null; do
    kill -0 $server || { cat "$folder/log" >&2; exit 1; }
done

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
