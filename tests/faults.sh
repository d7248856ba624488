#!/bin/sh
# faults.sh     fails if docs/faults.md names a test that there is not, or has a
#               row with neither a test nor a reason
# faults.sh -v  and prints each row's tests with their files
#
# A row is "| name | what | `program`: test, test; `program`: test | reason |".
set -eu

tests=$(mktemp)
trap 'rm -f "$tests"' EXIT

# "program test": all there are.
for file in tests/test_*.c tests/live/*/test_*.c tests/support/self/*.c; do
    program=${file#tests/}
    program=${program%.c}
    sed -n "s|^START_TEST(\([a-z0-9_]*\).*|$program \1|p" "$file"
done >"$tests"

awk -v verbose="${1-}" '
    function complain(what) {
        print "faults: " what >"/dev/stderr"
        bad = 1
    }
    function trim(s) {
        gsub(/^ +| +$/, "", s)
        return s
    }
    function take(row, part,    program, names, n, i) {
        if (!match(part, /^`[^`]+`:/)) {
            complain(row ": no program: " part)
            return
        }
        program = substr(part, 2, RLENGTH - 3)
        n = split(substr(part, RLENGTH + 1), names, ",")
        for (i = 1; i <= n; i++) {
            names[i] = trim(names[i])
            if (!((program " " names[i]) in known))
                complain(row ": no such test: " program ": " names[i])
            else if (verbose == "-v")
                print row, "tests/" program ".c", names[i]
            count++
        }
    }
    FNR == NR { known[$0] = 1; next }
    /^\| [XB][0-9]/ {
        split($0, cell, "|")
        row = trim(cell[2])
        rows++
        seen[row] = 1
        if (trim(cell[4]) == "" && trim(cell[5]) == "")
            complain(row ": neither a test nor a reason")
        n = split(trim(cell[4]), parts, ";")
        for (i = 1; i <= n; i++)
            take(row, trim(parts[i]))
    }
    END {
        for (i = 1; i <= 12; i++)
            if (!(("X" i) in seen))
                complain("no row X" i)
        for (i = 1; i <= 25; i++)
            if (!(("B" i) in seen))
                complain("no row B" i)
        if (!bad)
            printf "faults: %d rows, %d names of tests\n", rows, count
        exit bad
    }' "$tests" docs/faults.md
