#!/bin/sh
# report.sh SCORE...: runs programs that main.c was linked into; behind each
# score, as rows of a table, the rules that its deviations break.
set -eu

said=$(mktemp)
trap 'rm -f "$said"' EXIT

for program; do
    "$program" >"$said" || [ $? = 1 ] ||
        { echo "$program: failed" >&2; exit 1; }
    cat "$said"
    tests/vectors/rules.sh "$said"
    echo
done
