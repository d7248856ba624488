#!/bin/sh
# tests_named.sh [TREE]: each .c file of resp/, net/, lock/, cli/ and tools/ names its tests
# in a comment after the one at its head, and these files exist:
#
#     /* Tests: tests/test_net_conn.c, tests/live/lock/test_lock.c. */
set -eu
tree=${1:-.}

# faults TREE: a line for each fault.
faults() {
    (cd "$1" && find resp net lock cli tools -name '*.c' 2>/dev/null | sort | while read -r file; do
        # The first comment that begins with "Tests:", before the first line of code.
        names=$(awk '/^#/ { exit }
                     /^\/\* Tests: / { on = 1 }
                     on { print }
                     on && /\*\// { exit }' "$file" | tr '\n' ' ')
        case $names in
        '/* Tests: '*'. */ ') ;;
        *) echo "$file names no tests: /* Tests: tests/test_....c. */ after its first comment"
           continue ;;
        esac
        names=${names#/\* Tests: }
        for name in $(echo "${names%. \*/ }" | tr -d '*,'); do
            [ -f "$name" ] || echo "$file names $name as its test, which does not exist"
        done
    done)
}

found=$(faults "$tree")
[ -z "$found" ] || { echo "$found" >&2; exit 1; }

# Does it notice a file without the line, and one that names a test that is not there?
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/net/base" "$dir/tests"
touch "$dir/tests/test_a.c" "$dir/tests/test_b.c"
printf '/* A. */\n/* Tests: tests/test_a.c,\n *        tests/test_b.c. */\n#include <a.h>\n' >"$dir/net/good.c"
[ -z "$(faults "$dir")" ] || { echo "tests_named.sh refuses what is right" >&2; exit 1; }
printf '/* A. */\n#include <a.h>\n/* Tests: tests/test_a.c. */\n' >"$dir/net/base/none.c"
printf '/* A. */\n/* Tests: tests/test_a.c, tests/test_c.c. */\n' >"$dir/net/gone.c"
faults "$dir" >"$dir/said"
grep -q '^net/base/none.c names no tests' "$dir/said" &&
    grep -q '^net/gone.c names tests/test_c.c' "$dir/said" &&
    [ "$(wc -l <"$dir/said")" = 2 ] || {
    echo "tests_named.sh does not notice what is wrong:" >&2
    cat "$dir/said" >&2
    exit 1
}
