#!/bin/sh
# afl.sh SECONDS: each harness under AFL++ for so long; fails if it finds
# anything.
set -eu
cd "$(dirname "$0")/.."

fuzz/build.sh afl
export AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_UI=1
for harness in build-fuzz/afl/fuzz_*.dict; do
    program=${harness%.dict}
    name=${program##*/fuzz_}
    out=build-fuzz/afl-$name
    rm -rf "$out"
    afl-fuzz -V "$1" -i "fuzz/corpus/$name" -o "$out" -x "$program.dict" -- \
        "$program" >"$out.log" 2>&1 || { tail -30 "$out.log" >&2; exit 1; }
    awk -v "name=$name" '
    $1 == "execs_done" {executions = $3}
    $1 ~ /^saved_(crashes|hangs)$/ {findings += $3}
    END {
        print "afl: " name ", " executions + 0 " executions"
        exit findings > 0 || !executions
    }' "$out/default/fuzzer_stats" ||
        { echo "afl: findings in $out/default" >&2; exit 1; }
done
