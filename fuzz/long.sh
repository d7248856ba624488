#!/bin/sh
# long.sh GOAL: runs the harnesses of resp/ in turn, a job of JOB (120) seconds
# after the other and one process at a time, until build-fuzz/long.log says that
# so many executions were done. Start it once for each core. Interrupted, it
# goes on where it was; a finding stops every one of them.
# long.sh total: what the log sums up to.
set -eu
cd "$(dirname "$0")/.."

[ $# = 1 ] || { echo "usage: $0 GOAL|total" >&2; exit 2; }
log=build-fuzz/long.log
mkdir -p build-fuzz
touch "$log"

# Harness, kind as in build.sh, bytes of an input, share of the time. Inputs are
# small: so there are many, and what the parser does is local.
plan='resp_parse fast 96 8
resp_twin fast 96 12
tools_resp fast 96 4
resp_encode fast 48 2
resp_parse guided 512 1
resp_twin guided 512 1
tools_resp guided 512 1
resp_encode guided 96 1'

done_so_far() { awk '{n += $3} END {print n + 0}' "$log"; }

# The row of the plan that had least of its share.
next() {
    echo "$plan" | awk -v "done=$log" '
    BEGIN {while ((getline line < done) > 0) {
        split(line, job, " ")
        had[job[1] " " job[2]] += job[4]
    }}
    {mine = had[$1 " " $2] / $4}
    NR == 1 || mine < least {least = mine; pick = $0}
    END {print pick}'
}

has_finding() { [ -n "$(ls build-fuzz/findings 2>/dev/null)" ]; }

total() {
    awk '{by[$1 " " $2] += $3; n += $3; seconds += $4}
    END {
        for (name in by) print name, by[name] | "sort"
        close("sort")
        print n + 0, "executions in", seconds + 0, "seconds, all with" \
            " AddressSanitizer and UndefinedBehaviorSanitizer"
    }' "$log"
}

[ "$1" != total ] || { total; exit; }
job=
trap '[ -z "$job" ] || kill "$job"; exit 130' INT TERM
while [ "$(done_so_far)" -lt "$1" ]; do
    ! has_finding || { echo "fuzz: see build-fuzz/findings" >&2; exit 1; }
    set -- "$1" $(next)
    nice -n 19 fuzz/run.sh "$3" "$2" -max_len="$4" \
        -max_total_time="${JOB:-120}" >>"$log" &
    job=$!
    wait "$job" || exit 1
    job=
done
total
