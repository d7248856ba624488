#!/bin/sh
# rules_fails.sh: does rules.sh notice a rule without a test, and each other fault?
set -eu
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/net" "$dir/tests/live"

# expect STATUS WORDS: what rules.sh says of the tree.
expect() {
    status=0
    "$here/rules.sh" "$dir" >"$dir/said" 2>&1 || status=1
    [ $status = "$1" ] && grep -q "$2" "$dir/said" || {
        echo "rules.sh: expected status $1 and '$2', and not:" >&2
        cat "$dir/said" >&2
        exit 1
    }
}

cat >"$dir/net/a.h" <<'A'
/* Rules:
 *
 * PART-1  A first.
 * PART-2  A second, and PART-9
 *         is no rule.
 * PART-10 A tenth. */
A
echo '/* PART-1 to PART-10. PART-1, PART-10: both. */' >"$dir/tests/live/test_a.c"
expect 1 'PART-2 is named by no test'
echo '/* PART-2 */' >>"$dir/tests/live/test_a.c"
expect 0 '3 numbered rules, 3 named'
printf '/* PART-1 */\nSTART_TEST(part_2_is)\nSTART_TEST(part10_is)\nSTART_TEST(utf_8)\n' \
    >"$dir/tests/live/test_a.c"
expect 0 '3 numbered rules, 3 named'
printf '/* PART-1\n * to PART-2 */ /* UTF-8, PART-4 */\n' >"$dir/tests/test_b.c"
expect 1 'PART-4 is named by a test, and is not a rule'
! grep -q UTF "$dir/said" || { cat "$dir/said" >&2; exit 1; }
