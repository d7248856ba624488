#!/bin/sh
# cmake.sh BUILD: a program that adds the source tree to its own build with CMake's add_subdirectory
# is compiled and runs: static and shared, with and without TLS, in C and C++, with headers of its
# own that have the names of holdfast's. The library exports what BUILD's exports.
set -eu

command -v cmake >/dev/null || { echo 'skipped: add_subdirectory (cmake is not installed)'; exit; }
tree=$PWD
build=$1
out=$(mkdir -p "$build/embed/cmake" && cd "$build/embed/cmake" && pwd)
fail() { echo "cmake: NOT SO: $*" >&2; exit 1; }
run() { "$@" >"$out/log" 2>&1 || { tail -n 40 "$out/log" >&2; fail "$*"; }; }

rm -rf "$out"
mkdir -p "$out/program/net" "$out/program/lock"
cd "$out/program"
for header in net/net.h lock/lock.h; do
    echo '#error a header of the program was included' >$header
done
cp "$tree/examples/hold.c" hold.c
cat >version.cc <<'CC'
#include <cstdio>
#include <holdfast/holdfast.hpp>

int main()
{
    try {
        holdfast::client client("rediss://127.0.0.1:1");
        holdfast::mutex lock(client, "x");
        lock.lock();
    } catch (const holdfast::error &e) {
        std::printf("%s\n%s\n", hf_version(), e.what());
    }
}
CC
cat >resp.c <<'C'
#include <holdfast/resp/resp.h>

int main(void)
{
    return hf_resp_default_limits.depth == 0;
}
C
cat >CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.13)
project(program C CXX)
include_directories(\${CMAKE_CURRENT_SOURCE_DIR})
add_subdirectory($tree holdfast)
add_executable(hold hold.c)
target_link_libraries(hold holdfast::holdfast)
add_executable(version version.cc)
target_link_libraries(version holdfast::holdfast)
add_executable(resp resp.c)
target_link_libraries(resp holdfast::resp)
CMAKE

# built NAME OPTIONS...: a build of this program.
built() {
    name=$1
    shift
    run cmake -S . -B "$out/$name" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' \
        -DCMAKE_C_FLAGS_DEBUG=-O0 "$@"
    run cmake --build "$out/$name" -j 2
    said=$("$out/$name/version")
    version=$("$tree/$build/holdfast" version | cut -d ' ' -f 2)
    [ "${said%%
*}" = "$version" ] || fail "$name: hf_version() is '$said', and not $version"
}

built static -DHOLDFAST_TLS=OFF
echo "$said" | grep -q 'TLS is not built in' || fail "static: HOLDFAST_TLS=OFF has TLS: $said"
! ldd "$out/static/hold" | grep -q holdfast || fail 'static: the program needs a shared library'
built shared -DBUILD_SHARED_LIBS=ON
exported() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort; }
exported "$out/shared/holdfast/libholdfast.so.0" >"$out/exported"
exported "$tree/$build/libholdfast.so" | diff - "$out/exported" >&2 ||
    fail "shared: it exports other symbols than make's"
[ ! -e "$tree/$build/tls-yes" ] || ! echo "$said" | grep -q 'TLS is not built in' ||
    fail "shared: TLS is missing: $said"
! git -C "$tree" status --porcelain 2>/dev/null | grep -q '^??.*made' || fail 'it writes into the source'
echo "cmake: add_subdirectory: static and shared, C and C++"
