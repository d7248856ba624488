#!/bin/sh
# minimise.sh [OPTION...]: merges what the fuzzers found into fuzz/corpus/, as
# few inputs as reach the same places in the code about as often; with
# -use_counters=0, the same places.
set -eu
cd "$(dirname "$0")/.."

fuzz/build.sh guided
for corpus in fuzz/corpus/*; do
    name=${corpus##*/} max=512
    [ "$name" != judge ] || max=2048    # a history has many lines
    new=build-fuzz/minimal-$name
    rm -rf "$new"
    mkdir -p "$new" "build-fuzz/corpus/$name" build-fuzz/seeds
    build-fuzz/guided/fuzz_$name -set_cover_merge=1 -max_len=$max "$@" \
        "$new" "$corpus" "build-fuzz/corpus/$name" build-fuzz/seeds \
        >"build-fuzz/minimise-$name.log" 2>&1
    rm -rf "$corpus"
    mv "$new" "$corpus"
    echo "$name: $(ls "$corpus" | wc -l) inputs," \
        "$(cat "$corpus"/* | wc -c) bytes"
done
