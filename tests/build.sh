#!/bin/sh
# build.sh BUILD: what a user may do to the build: OpenSSL is installed after the first build,
# and removed again; CFLAGS and LDFLAGS of the user, another libc; an installation that is
# compiled against, shared and static. BUILD contains a build with the default flags and TLS: where
# the flags of the compiler are the same, its objects are copied.
set -eu

built=$1
root=$(pwd)
out=$root/build-tried
rm -rf "$out"
mkdir -p "$out"
log=$out/log

fail() { echo "build: $*" >&2; tail -n 20 "$log" >&2; exit 1; }
try() { "$@" >"$log" 2>&1 || fail "$*"; }
build() { folder=$out/$1; shift; try make BUILD="$folder" "$@" all; }

# FOLDER WORD: the command in it says that.
says() {
    "$out/$1/holdfast" version >"$log" 2>&1 && grep -q "$2" "$log" ||
        fail "$1: holdfast version does not say $2"
}

# copied FOLDER: the objects of the libraries and commands in BUILD.
copied() {
    mkdir "$out/$1"
    cp -Rp "$built/resp" "$built/net" "$built/lock" "$built/cli" "$built/tools" "$out/$1"
}

# The same folder, whatever was built in it before.
copied kind
for tls in no yes no; do
    build kind "HAS_TLS=$tls" WERROR=-Werror
    [ $tls = no ] && says kind 'TLS: no' || says kind 'TLS: OpenSSL'
done
rm "$out"/kind/net/base/url.o "$out"/kind/net/link/link.o
sleep 0.01 && build kind HAS_TLS=no WERROR=-Werror
[ -e "$out/kind/net/base/url.o" ] || fail 'an object that is missing is not made'

copied static
build static WERROR=-Werror LDFLAGS=-static TLS=yes
says static 'TLS: OpenSSL'
# musl, with the warnings of -O3; of TLS, which musl lacks, glibc compiles the files.
if command -v musl-gcc >/dev/null; then
    build musl CC=musl-gcc WERROR=-Werror LDFLAGS=-static CFLAGS=-O3
    says musl 'TLS: no'
fi
# shellcheck disable=SC2046 # words
try make BUILD="$out/O3" WERROR=-Werror CFLAGS=-O3 TLS=yes \
    $(find net/wire -name 'tls_openssl*.c' | sed "s|\(.*\)\.c|$out/O3/\1.o|")

# The user's flags are behind ours: what they say of a warning counts.
printf 'int f(int n);\nint f(int n) { return 0; }\n' >"$out/warns.c"
try make "$out/warns.o" WERROR=-Werror CFLAGS=-Wno-unused-parameter \
    --eval "$out/warns.o: $out/warns.c; \$(COMPILE) -c \$< -o \$@"

# CPPFLAGS of the environment are used, and PKG_CONFIG finds OpenSSL.
printf '#if OF_CPPFLAGS != 7\n#error CPPFLAGS are not used\n#endif\ntypedef int one;\n' >"$out/cpp.c"
CPPFLAGS=-DOF_CPPFLAGS=7 try make "$out/cpp.o" --eval "$out/cpp.o: $out/cpp.c; \$(COMPILE) -c \$< -o \$@"
printf '#!/bin/sh\necho -lof_pkg_config\n' >"$out/pkg-config"
chmod +x "$out/pkg-config"
PKG_CONFIG=$out/pkg-config try make TLS=yes --eval 'libs: ; @echo $(TLS_LIBS)' libs
grep -q lof_pkg_config "$log" || fail 'PKG_CONFIG is not used'

# What the README says, with the README's program. No server listens there.
prefix=$out/usr
copied installed
try make BUILD="$out/installed" PREFIX="$prefix" install
awk '/^```c$/ {on = 1; next} /^```$/ && on {exit} on' README.md |
    sed 's|127.0.0.1:6379|127.0.0.1:1/?connect_timeout=10ms|' >"$out/example.c"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export PKG_CONFIG_PATH
# compile: what stands behind it, if anything, links it statically.
# shellcheck disable=SC2046,SC2086 # words
compile() {
    try cc $* "$out/example.c" \
        $(pkg-config --cflags --libs ${1:+--static} holdfast) -o "$out/example"
    LD_LIBRARY_PATH=$prefix/lib "$out/example" >"$log" 2>&1 &&
        fail "the example takes a lock from nobody"
    grep -q '127.0.0.1:1' "$log" || fail "the example, $*: no word of the server"
}
compile
compile -static

# compiles CALL: may a program drop its result?
compiles() {
    printf '#include <holdfast/holdfast.h>\nvoid f(struct hf_lock *l);\n%s\n' \
        "void f(struct hf_lock *l) { $1; }" >"$out/drop.c"
    # shellcheck disable=SC2046 # words
    cc $(pkg-config --cflags holdfast) -Wall -Werror -c "$out/drop.c" \
        -o "$out/drop.o" >"$log" 2>&1
}

# Only the static libraries, in folders of the user's choice, without symbols; the flags of
# pkg-config are complete without --static. Then both, by CMake.
root=$out/root
only() { try make BUILD="$out/installed" PREFIX=/opt/hf LIBDIR=/opt/hf/lib/here BINDIR=/opt/hf/cmd \
    MANDIR=/opt/man DOCDIR=/opt/doc/hf INCLUDEDIR=/opt/hf/include DESTDIR="$root" "$@"; }
only LIBRARIES=static install-strip
[ ! -e "$root/opt/hf/lib/here/libholdfast.so" ] || fail 'LIBRARIES=static installs the shared one'
[ -x "$root/opt/hf/cmd/holdfast" ] && [ -e "$root/opt/doc/hf/LICENSE" ] &&
    [ -e "$root/opt/man/man1/holdfast.1" ] || fail 'a folder is not where it was asked for'
nm "$root/opt/hf/cmd/holdfast" 2>&1 | grep -q 'no symbols' || fail 'install-strip: not stripped'
(   PKG_CONFIG_PATH=$root/opt/hf/lib/here/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
    export PKG_CONFIG_SYSROOT_DIR
    compile
    # shellcheck disable=SC2046 # words
    printf '#include <holdfast/resp/resp.h>\nint main(void) { return !hf_resp_status_text(0); }\n' |
        try cc -x c - $(pkg-config --cflags --libs holdfast-resp) -o "$out/resp" &&
        "$out/resp") || exit
# The version up to its second number: 0.9.
minor=$(pkg-config --modversion holdfast | sed 's/\.[0-9]*$//')
uses_cmake() { # TARGET: builds the example with find_package, and runs it
    rm -rf "$out/cmake"
    mkdir -p "$out/cmake"
    cp "$out/example.c" "$out/cmake"
    cat >"$out/cmake/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.13)
project(example C)
find_package(holdfast $minor REQUIRED)
if(NOT TARGET holdfast::resp)
  message(FATAL_ERROR "holdfast::resp is not defined")
endif()
add_executable(example example.c)
target_link_libraries(example $1)
CMAKE
    try cmake -S "$out/cmake" -B "$out/cmake/b" -Dholdfast_DIR="$root/opt/hf/lib/here/cmake/holdfast"
    try cmake --build "$out/cmake/b"
    ! "$out/cmake/b/example" >"$log" 2>&1 || fail "the example takes a lock from nobody"
    grep -q '127.0.0.1:1' "$log" || fail "the example of CMake, $1: no word of the server"
}
if command -v cmake >/dev/null; then
    uses_cmake holdfast::holdfast
    only install
    uses_cmake holdfast::holdfast
    uses_cmake holdfast::static
    ldd "$out/cmake/b/example" | grep -q libholdfast && fail "holdfast::static is shared"
    sed -i 's/find_package(holdfast [0-9.]*/find_package(holdfast 99.0/' "$out/cmake/CMakeLists.txt"
    ! cmake -S "$out/cmake" -B "$out/cmake/b99" -Dholdfast_DIR="$root/opt/hf/lib/here/cmake/holdfast" \
        >"$log" 2>&1 || fail 'CMake accepts version 99.0'
    tests/embed/cmake.sh "$built"
else
    echo 'skipped: CMake: no cmake'
fi
only uninstall
[ -z "$(find "$root" ! -type d)" ] || fail "uninstall leaves $(find "$root" ! -type d)"

compiles 'hf_lock_release(l, 1, 0)' || fail 'a release must be looked at'
! compiles 'hf_lock_acquire(l, 0, 0)' || fail 'an acquire may be ignored'
rm -rf "$out"
echo "build: OpenSSL that comes and goes, -O3, static, installed: as it should be"
