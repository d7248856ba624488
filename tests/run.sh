#!/bin/sh
# Runs test programs one after another; 0 if all passed. Each starts and ends
# its own servers.
set -u

passed=0 failed=0 skipped=0
trap 'exit 130' INT TERM
for t; do
    "$t"
    case $? in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)); echo "skipped: $t" ;;
    *) failed=$((failed + 1)); echo "FAILED: $t" ;;
    esac
done
echo "programs: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
