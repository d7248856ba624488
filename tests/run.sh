#!/bin/sh
# Runs test programs, in this order, TEST_JOBS at a time, each with servers of its
# own; 0 if all passed. They mostly wait (a quarter of their time is CPU), so by
# default there are five to a processor. A program that answers 77 was skipped.
# What a failed one said is said again at the end, where a reader of a long log
# looks.
set -u

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM

# tests/ and tests/live/ have programs of the same name.
log_of() { echo "$logs/$(echo "$1" | tr / _)"; }

for t; do
    printf '%s\n%s\n' "$t" "$(log_of "$t")"
done | xargs -P "${TEST_JOBS:-$(($(nproc) * 5))}" -n 2 sh -c '
    "$1" >"$2" 2>&1
    echo $? >"$2.code"
    cat "$2"' -

passed=0 failed=0 skipped=0
for t; do
    log=$(log_of "$t")
    case $(cat "$log.code" 2>/dev/null) in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)); echo "skipped: $t" ;;
    *) failed=$((failed + 1)); echo "FAILED: $t"
       tail -n 40 "$log" 2>/dev/null ;;
    esac
done
echo "programs: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
