#!/bin/sh
# Runs test programs, TEST_JOBS (2) at a time, each with servers of its own; 0 if
# all passed. A program that answers 77 was skipped. What a failed one said is
# said again at the end, where a reader of a long log looks.
set -u

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM

printf '%s\n' "$@" | xargs -P "${TEST_JOBS:-2}" -I '{}' sh -c '
    log=$2/$(basename "$1")
    "$1" >"$log" 2>&1
    echo $? >"$log.code"
    cat "$log"' - '{}' "$logs"

passed=0 failed=0 skipped=0
for t; do
    case $(cat "$logs/$(basename "$t").code" 2>/dev/null) in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)); echo "skipped: $t" ;;
    *) failed=$((failed + 1)); echo "FAILED: $t"
       tail -n 40 "$logs/$(basename "$t")" 2>/dev/null ;;
    esac
done
echo "programs: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
