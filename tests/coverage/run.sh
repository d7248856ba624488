#!/bin/sh
# run.sh BUILD 'SOURCE...' 'TEST...'...: which lines, branches and conditions
# (MC/DC) of the sources, and of the headers beside them, the tests take. What
# they do not take must be what exceptions.txt lists with a reason, no more and
# no less. Tests that share their objects are one argument.
set -eu
export LC_ALL=C

counts=$1/counts
sources=$2
shift 2
sources="$sources $(dirname "${sources%% *}")/*.h"
here=$(dirname "$0")

rm -rf "$counts"
mkdir -p "$counts"
# %m: each test is a process, and adds to what those before it counted.
LLVM_PROFILE_FILE=$counts/%2m.profraw tests/run.sh $*
llvm-profdata-19 merge -sparse "$counts"/*.profraw -o "$counts/profile"

for tests; do
    measured="-instr-profile=$counts/profile
              $(printf -- '-object %s ' $tests)"
    llvm-cov-19 export $measured >>"$counts/export"
    llvm-cov-19 show -show-instantiations=false \
        -ignore-filename-regex='^(tests|fuzz)/' $measured >>"$counts/show"
done
jq -nrR --slurpfile exports "$counts/export" -f "$here/facts.jq" $sources \
    >"$counts/facts"
awk -f "$here/table.awk" "$counts/show" "$counts/facts"

# An entry stands in a paragraph that begins with its reason.
awk '!NF { reason = 0 }
     /^#/ { reason = 1; next }
     NF && !reason { print "without a reason: " $0; bad = 1 }
     END { exit bad }' "$here/exceptions.txt"
sed -n '/^[^#]/p' "$here/exceptions.txt" | sort >"$counts/listed"
awk -F '\t' '$1 == "no" { print $2 ": " $3 ": " $4 ": " $5 }' \
    "$counts/facts" | sort >"$counts/missing"
comm -13 "$counts/listed" "$counts/missing" | sed 's/^/not covered: /'
comm -23 "$counts/listed" "$counts/missing" | sed 's/^/covered, but listed: /'
if ! cmp -s "$counts/listed" "$counts/missing"; then
    echo "$here/exceptions.txt does not say what is not covered" >&2
    exit 1
fi
echo "coverage: all but $(wc -l <"$counts/missing") in $here/exceptions.txt"
