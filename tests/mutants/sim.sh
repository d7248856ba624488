#!/bin/bash
# sim.sh BUILD: does the simulation notice? Puts each bug of sim.txt, alone, into a
# copy of the tree and runs the simulation on fresh seeds, from SIM_FIRST on, until
# one fails, or for SIM_LIMIT seconds of a processor. A seed that fails without the
# bug, too, does not count. Prints a table of what was violated, after how many
# seeds and seconds. If no seed finds the bug, the recorded plans are executed: the
# table has the name of the first one that fails. 0 if every bug was found.
# A bug whose title begins with a family ("quorum: ...") is looked for with seeds of
# that family. ONLY='3 17': the bugs of these numbers. Two of these at a time: OUT=name.
set -euo pipefail

here=$PWD/tests/mutants
out=$1/mutants-sim/${OUT:-all}
first=${SIM_FIRST:-1}
limit=${SIM_LIMIT:-60}

build() {
    make -s -C "$out/tree" BUILD=build ASSERTS=yes CFLAGS=-O2 WARN=-w build/tests/sim/sim \
        >"$out/log" 2>&1 || { cat "$out/log"; return 1; } >&2
}

# SIM SEED SECONDS: the first seed from SEED on that fails, and what it violates
# ("17 P1"); nothing if time is over first.
first_failure() {
    (cd "$out" && ulimit -t "$3" &&
        "$1" --seeds "$2..4000000000" --family "$family" --runs 0 2>&1 || true) |
        sed -n -e 's/^seed \([0-9]*\) fails: \([^:]*\):.*/\1 \2/p' \
               -e 's/^seed \([0-9]*\) crashes.*/\1 crash/p'
}

fails_without_bug() { ! "$out/sim" --seeds "$1..$(($1 + 1))" --family "$family" --runs 0; } \
    >"$out/log" 2>&1

# What is violated, after how many seeds and seconds.
hunt() {
    local seed=$first left=$limit false_alarms=0 plan TIMEFORMAT='%U %S'
    local found used=0

    while [ "$left" -gt 0 ]; do
        found=$({ time first_failure "$out/tree/build/tests/sim/sim" \
            "$seed" "$left"; } 2>"$out/time")
        used=$(awk -v u="$used" 'END { print u + $1 + $2 }' "$out/time")
        left=$(awk -v u="$used" -v l="$limit" 'BEGIN { print int(l - u) }')
        [ -n "$found" ] || break
        seed=$((${found% *} + 1))
        fails_without_bug "${found% *}" || {
            echo "${found#* } $((seed - first - false_alarms)) $used"
            return
        }
        false_alarms=$((false_alarms + 1))
    done
    for plan in "$out"/tree/tests/sim/plans/*.plan; do
        (cd "$out" && "$out/tree/build/tests/sim/sim" --plan "$plan" --runs 0) \
            >"$out/log" 2>&1 && continue
        found=$(sed -n 's/^seed [0-9]* fails: \([^:]*\):.*/\1/p' "$out/log")
        echo "${found:-crash} $(basename "$plan" .plan) $used"
        return
    done
    echo "none - $used"
}

# KIND: the family whose seeds meet such a bug; all, if it is not one.
family_of() {
    "$out/sim" --family "$1" --seed 1 >/dev/null 2>&1 && echo "$1" || echo all
}

# N FILE KIND BUG: one line of the table.
try() {
    family=$(family_of "$3")
    local file=$out/tree/$2 property seeds seconds
    cp "$file" "$out/original"
    cp "$out/sources/$1" "$file"
    build
    read -r property seeds seconds < <(hunt)
    printf '| %s: %s | %s | %s | %.1f |\n' "$3" "$4" "$property" "$seeds" "$seconds"
    cp "$out/original" "$file"
    [ "$property" != none ] || survivors=$((survivors + 1))
}

rm -rf "$out"
mkdir -p "$out/tree" "$out/sources"
out=$(cd "$out" && pwd)
cp -r Makefile mk resp net lock cli tests "$out/tree"
(cd "$out/tree" && awk -v out=../sources -f "$here/apply.awk" "$here/sim.txt") |
    awk -v only=" ${ONLY:-} " 'only == "  " || index(only, " " $1 " ")' \
        >"$out/list"
build
cp "$out/tree/build/tests/sim/sim" "$out/sim"

survivors=0
echo '| bug | violated | seeds | seconds |'
echo '| --- | --- | --- | --- |'
while IFS=$'\t' read -r n file kind bug _; do
    try "$n" "$file" "$kind" "$bug"
done <"$out/list"
echo
echo "$(wc -l <"$out/list") bugs, $survivors survived"
[ $survivors = 0 ]
