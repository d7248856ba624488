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

# copy_tree: the tree without fault again.
copy_tree() { rm -rf "$tree" && cp -R "$dir/right" "$tree"; }

make_tree() {
    for floor in resp net lock cli; do
        mkdir -p "$tree/$floor"
        echo '#include <stddef.h>' >"$tree/$floor/$floor.h"
    done
    for folder in resp net/base net/loop net/wire net/link net/route \
                  lock lock/machine lock/script lock/record lock/verb lock/api lock/set \
                  cli cli/base cli/lock cli/run cli/ls cli/doctor cli/bench tools/resp; do
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
    cp -R "$tree" "$dir/right"
}

# plant WORDS FILE HEADER: an include that must be refused with these words. All of
# them go into one tree, so that one run judges them all.
plant() {
    put "$2" "$3"
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$dir/planted"
}

# notices WHAT: the tree is refused, with the words of each fault that was planted; an
# include that points upwards is named with its file.
notices() {
    ! "$layers" "$tree" >"$dir/says" 2>&1 || fail "$1: the tree is not refused"
    while IFS="$(printf '\t')" read -r words file header; do
        grep -qF "$words" "$dir/says" || fail "$file includes $header: not said"
        case $words in
        *'must not')
            grep -qE "^$file:[0-9]+: $header\$" "$dir/says" ||
                fail "$file includes $header: the line is not named" ;;
        esac
    done <"$dir/planted"
    : >"$dir/planted"
    copy_tree
}

: >"$dir/planted"
make_tree
"$layers" "$tree" >"$dir/says" 2>&1 || fail 'a tree without fault is refused'

# Upwards, from floor to floor and from room to room.
plant 'resp/ must not' resp/below.c net/net.h
plant 'net/ must not' net/net.h net/base/below.h
plant 'net/base/ must not' net/base/below.c net/loop/below.h
plant 'net/loop/ must not' net/loop/below.h net/wire/below.h
plant 'net/wire/ must not' net/wire/below.c net/link/below.h
plant 'net/link/ must not' net/link/below.c net/route/below.h
plant 'net/route/ must not' net/route/below.c lock/lock.h
plant 'lock/ must not' lock/below.c cli/cli.h
plant 'lock/ must not' lock/lock.h lock/machine/below.h
plant 'lock/machine/ must not' lock/machine/below.c lock/script/below.h
plant 'lock/script/ must not' lock/script/below.c lock/record/below.h
plant 'lock/record/ must not' lock/record/below.c lock/verb/below.h
plant 'lock/verb/ must not' lock/verb/below.c lock/api/below.h
plant 'lock/api/ must not' lock/api/below.c lock/set/below.h
plant 'cli/ must not' cli/below.c cli/run/below.h
plant 'cli/base/ must not' cli/base/below.c cli/below.h
plant 'cli/base/ must not' cli/base/below.h cli/lock/below.h

# Downwards, at what a floor keeps to itself.
plant 'net/loop/ must not' net/loop/below.c resp/below.h
plant 'lock/ must not' lock/below.c net/loop/below.h
plant 'cli/ must not' cli/below.c lock/below.h
plant 'cli/run/ must not' cli/run/below.c tools/resp/below.h
plant 'cli/ls/ must not' cli/ls/below.c cli/lock/below.h
plant 'tools/resp/ must not' tools/resp/below.c cli/run/below.h

notices 'includes that point upwards or at private headers'

# In a circle, of two and of three.
for file in below.h below.c; do
    for folder in resp net/link net/route lock lock/record lock/set cli/base; do
        plant "$folder/: these include" "$folder/$file" "$folder/above.h"
    done
    notices "a circle of two, by $file"
done
plant 'net/loop/: these include' net/loop/loop.h net/loop/above.h
notices 'a circle by a contract'
put lock/third.c lock/above.h
plant 'lock/: these include' lock/below.c lock/third.h
notices 'a circle of three'

# A folder of which no rule speaks.
plant 'net/new/ is in no rule' net/new/file.c net/net.h
notices 'an unknown folder'
