#!/bin/sh
# layers_notices.sh: tests/layers.sh fails when an arrow is turned, and says which
# folder it is about. In a small tree that is made here: each folder has two
# files, above.c and below.c, of which the first includes the second's header.
set -eu

layers=$(pwd)/tests/layers.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree

fail() { echo "layers_notices: $*" >&2; cat "$dir/says" >&2; exit 1; }

# put FILE HEADER: one include more.
put() {
    mkdir -p "$tree/${1%/*}"
    printf '#include "%s"\n' "$2" >>"$tree/$1"
}

make_tree() {
    rm -rf "$tree"
    for floor in resp net lock cli; do
        mkdir -p "$tree/$floor"
        echo '#include <stddef.h>' >"$tree/$floor/$floor.h"
    done
    for folder in resp net/base net/loop net/wire net/link net/route \
                  lock lock/machine lock/script lock/record lock/verb lock/api lock/set \
                  cli cli/base cli/lock cli/run cli/ls cli/doctor tools/resp; do
        put "$folder/above.c" "$folder/above.h"
        put "$folder/above.c" "$folder/below.h"
        put "$folder/below.c" "$folder/below.h"
        case $folder in
        cli/* | tools/*) put "$folder/below.c" cli/base/shared.h ;;
        *) put "$folder/below.c" "${folder%%/*}/${folder%%/*}.h" ;;
        esac
    done
    put net/net.h resp/resp.h
    put net/route/above.h net/link/above.h
    put net/wire/below.h net/base/above.h
    put lock/lock.h net/net.h
    put lock/above.c net/loop/loop.h
    put net/loop/below.c net/loop/loop.h
    put net/loop/loop.c net/loop/above.h
    put net/loop/above.h net/loop/loop.h
    put cli/above.h lock/lock.h
}

# notices WORDS FILE HEADER...: a tree in which FILE includes these is refused.
notices() {
    words=$1 file=$2
    shift 2
    make_tree
    for header in "$@"; do put "$file" "$header"; done
    ! "$layers" "$tree" >"$dir/says" 2>&1 || fail "$file may include $*"
    grep -qF "$words" "$dir/says" || fail "$file includes $*: not said"
}

make_tree
"$layers" "$tree" >"$dir/says" 2>&1 || fail 'a tree without fault is refused'

# Upwards, from floor to floor and from room to room.
notices 'resp/ must not' resp/below.c net/net.h
notices 'net/ must not' net/net.h net/base/below.h
notices 'net/base/ must not' net/base/below.c net/loop/below.h
notices 'net/loop/ must not' net/loop/below.h net/wire/below.h
notices 'net/wire/ must not' net/wire/below.c net/link/below.h
notices 'net/link/ must not' net/link/below.c net/route/below.h
notices 'net/route/ must not' net/route/below.c lock/lock.h
notices 'lock/ must not' lock/below.c cli/cli.h
notices 'lock/ must not' lock/lock.h lock/machine/below.h
notices 'lock/machine/ must not' lock/machine/below.c lock/script/below.h
notices 'lock/script/ must not' lock/script/below.c lock/record/below.h
notices 'lock/record/ must not' lock/record/below.c lock/verb/below.h
notices 'lock/verb/ must not' lock/verb/below.c lock/api/below.h
notices 'lock/api/ must not' lock/api/below.c lock/set/below.h
notices 'cli/ must not' cli/below.c cli/run/below.h
notices 'cli/base/ must not' cli/base/below.c cli/below.h
notices 'cli/base/ must not' cli/base/below.h cli/lock/below.h

# Downwards, at what a floor keeps to itself.
notices 'net/loop/ must not' net/loop/below.c resp/below.h
notices 'lock/ must not' lock/below.c net/loop/below.h
notices 'cli/ must not' cli/below.c lock/below.h
notices 'cli/run/ must not' cli/run/below.c tools/resp/below.h
notices 'cli/ls/ must not' cli/ls/below.c cli/lock/below.h
notices 'tools/resp/ must not' tools/resp/below.c cli/run/below.h

# In a circle, of two and of three.
for folder in resp net/link net/route lock lock/record lock/set cli/base; do
    notices "$folder/: these include" "$folder/below.h" "$folder/above.h"
    notices "$folder/: these include" "$folder/below.c" "$folder/above.h"
done
notices 'net/loop/: these include' net/loop/loop.h net/loop/above.h
make_tree
put lock/third.c lock/above.h
put lock/below.c lock/third.h
! "$layers" "$tree" >"$dir/says" 2>&1 || fail 'a circle of three is not seen'

# A folder of which no rule speaks.
notices 'net/new/ is in no rule' net/new/file.c net/net.h
