#!/bin/sh
# rules.sh        each rule and what tests it; fails on a name that dangles, a
#                 rule without a test and a vector without a rule
# rules.sh -q     the same, and only how many there are
# rules.sh FILE   the rules that a score's output breaks
set -eu

here=tests/vectors
names=$(mktemp)
trap 'rm -f "$names"' EXIT

# "vector NAME", "test NAME FILE": all there are.
sed -n 's/^\([a-z][^ |]*\) | .*/vector \1/p' $here/resp.txt >"$names"
grep -Eo '^START_TEST\([a-z0-9_]+' tests/*.c tests/live/*/*.c |
    sed 's/\(.*\):START_TEST(\(.*\)/test \2 \1/' >>"$names"
for harness in fuzz/fuzz_*.c; do
    echo "test $(basename "$harness" .c) $harness"
done >>"$names"

quiet=0
if [ "${1-}" = -q ]; then
    quiet=1
    shift
fi
awk -v quiet=$quiet -f $here/rules.awk "$names" $here/rules.txt "$@"
