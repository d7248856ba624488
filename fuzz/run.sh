#!/bin/sh
# run.sh SECONDS HARNESS...: runs each harness so long, with its dictionary and
# the vectors as seeds. What it finds stays in build-fuzz/.
set -eu

seconds=$1
shift
rm -f build-fuzz/crash-* build-fuzz/timeout-* build-fuzz/oom-* build-fuzz/leak-*
for harness; do
    name=${harness##*/fuzz_}
    corpus=build-fuzz/corpus-$name
    dict=fuzz/${name%%_*}.dict
    [ "$name" != cli_resp ] || dict=fuzz/resp.dict
    log=build-fuzz/$name.log
    mkdir -p "$corpus"
    [ "$name" != resp_parse ] || fuzz/resp_seeds.sh "$corpus"
    set --
    [ ! -f "$dict" ] || set -- "-dict=$dict"
    if ! "$harness" -max_total_time="$seconds" -max_len=4096 -timeout=5 \
        -print_final_stats=1 -artifact_prefix=build-fuzz/ "$@" "$corpus" \
        >"$log" 2>&1; then
        tail -40 "$log"
        echo "fuzz: $name found something, see build-fuzz/" >&2
        exit 1
    fi
    echo "fuzz: $name, $(awk '/number_of_executed/ {print $2}' "$log")" \
        "executions in $seconds s"
done
