#!/bin/sh
# amalgamation.sh BUILD MAKE...: holdfast.h and holdfast.c in BUILD/amalgamation are what
# docs/embedding.md says: the same bytes each time; no warning as C11 with gcc, clang and
# musl, with TLS and without; a library made of them exports what libholdfast.so does; and
# the example of the README takes a lock with them from a real server.
set -eu

build=$1
shift
from=$build/amalgamation
out=$build/embed/amalgamation
mkdir -p "$out"
. tests/embed/server.sh

is_the_same_each_time() {
    "$@" -s BUILD="$build" AMALGAMATION="$out/again" amalgamation
    for file in holdfast.h holdfast.c hf_resp.h hf_resp.c; do
        cmp "$from/$file" "$out/again/$file" || fail "$file is the same each time"
    done
}

# compile OBJECT COMPILER FLAGS...
compile() {
    object=$out/$1.o
    shift
    "$@" -std=c11 -Wall -Wextra -Werror -fPIC -pthread -c "$from/holdfast.c" -o "$object" ||
        fail "$* compiles it without a warning"
    echo "amalgamation: $*: no warning"
}

# The visibility is in the file, so the user needs no flag.
exports_what_the_library_does() {
    gcc -shared -pthread "$out/tls.o" -lssl -lcrypto -o "$out/holdfast.so"
    nm -D --defined-only "$out/holdfast.so" | awk '$3 !~ /^_/ { print $3 }' | sort |
        diff tests/exports.txt - || fail 'it exports what tests/exports.txt lists'
}

exports_nothing_if_so_asked() {
    gcc -shared -pthread "$out/small.o" -o "$out/small.so"
    ! nm -D --defined-only "$out/small.so" | grep ' hf_' ||
        fail 'it exports nothing with -DHF_API= -fvisibility=hidden'
}

# takes_a_lock OBJECT COMPILER FLAGS...: the example, without an installation.
takes_a_lock() {
    object=$out/$1.o
    shift
    cli="redis-cli -s $folder/sock"
    $cli config resetstat >/dev/null
    "$@" -Wall -Wextra -Werror -pthread -I"$from" "$out/hold.c" "$object" -o "$out/hold" \
        $libraries || fail "$* links the example"
    [ "$("$out/hold")" = mine ] || fail "$*: the example takes its lock"
    $cli info commandstats | grep -q '^cmdstat_eval' || fail "$*: a script ran"
    [ "$($cli exists order:42)" = 0 ] || fail "$*: the example releases its lock"
    echo "amalgamation: $*: the example runs"
}

is_the_same_each_time "$@"
printf '#include "holdfast.h"\n#include "holdfast.hpp"\n' >"$out/twice.cc"
g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$from" "$out/twice.cc" ||
    fail 'a C++ program includes holdfast.h and holdfast.hpp'
sed -e 's|<holdfast/holdfast.h>|"holdfast.h"|' -e "s|redis://127.0.0.1:6379|unix://$folder/sock|" \
    examples/hold.c >"$out/hold.c"
start_server

compile tls gcc -O2 -DHF_TLS
exports_what_the_library_does
libraries='-lssl -lcrypto' takes_a_lock tls gcc
compile small gcc -Os -DHF_API= -fvisibility=hidden
exports_nothing_if_so_asked
! nm "$out/small.o" | grep -q SSL || fail 'it has no TLS without HF_TLS'
libraries='' takes_a_lock small gcc
compile clang clang -O1 -DHF_TLS -DHF_POLL -DHF_ASSERTS
libraries='-lssl -lcrypto' takes_a_lock clang clang
if command -v musl-gcc >/dev/null; then
    compile musl musl-gcc -O3 -DHF_ASSERTS
    libraries='-static' takes_a_lock musl musl-gcc
else
    echo 'skipped: the amalgamation with musl: no musl-gcc'
fi
