#!/bin/sh
# run.sh SECONDS HARNESS...: runs each harness so long, with its dictionary and
# seeds; what it finds stays in build-fuzz/.
set -eu

seconds=$1
shift
for harness; do
    name=${harness##*/fuzz_}
    corpus=build-fuzz/corpus-$name
    mkdir -p "$corpus"
    seeds= dict=
    [ ! -d "fuzz/seeds/$name" ] || seeds=fuzz/seeds/$name
    [ ! -f "fuzz/${name%%_*}.dict" ] || dict=-dict=fuzz/${name%%_*}.dict
    echo "fuzz: $name, $seconds s"
    "$harness" -max_total_time="$seconds" -max_len=4096 -timeout=5 \
        -verbosity=0 -print_final_stats=1 $dict \
        -artifact_prefix=build-fuzz/ "$corpus" $seeds 2>&1 |
        grep -E 'ERROR|SUMMARY|number_of_executed_units|Test unit written' ||
        { echo "fuzz: $name failed" >&2; exit 1; }
    # A finding leaves a file; the pipe above hides the exit code.
    if ls build-fuzz/crash-* build-fuzz/timeout-* build-fuzz/oom-* \
        >/dev/null 2>&1; then
        echo "fuzz: findings in build-fuzz/" >&2
        exit 1
    fi
done
