#!/bin/sh
# run.sh PROGRAM...: runs test programs TEST_JOBS at a time, each with servers of
# its own; 0 if all passed. They mostly wait (a tenth of their time is CPU), so by
# default there are seven to a processor. The slowest come first, in parts
# (tests/slow.txt, support/parts.c), so that nobody waits for one of them alone at
# the end. The tests of a program that TEST_TOGETHER names share a process
# (mk/lists.mk). A program that answers 77 was skipped. What a failed one said is
# said again at the end, where a reader of a long log looks.
set -u

# The resolver and the names in certificates are tested with this name.
if command -v getent >/dev/null && ! getent ahosts localhost >/dev/null; then
    echo "$0: the name localhost does not resolve here, and some sixty tests would" \
        "fail: add '127.0.0.1 localhost' to /etc/hosts" >&2
    exit 1
fi

# Servers and peers of the tests listen on the loopback interface, which a build without a network
# may not have. Without it each test would wait until its time limit.
if [ -r /proc/net/fib_trie ] && ! grep -q '127\.0\.0\.1$' /proc/net/fib_trie; then
    echo "$0: the loopback interface is down: ip link set lo up" >&2
    exit 1
fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM

# tests/ and tests/live/ have programs of the same name.
log_of() { echo "$logs/$(echo "$1" | tr / _)"; }

# PROGRAM PARTS, in the order in which they are to run.
for t; do
    echo "${t##*/test_} $t"
done | awk '
    NR == FNR { if (!/^#/) { rank[$1] = FNR; parts[$1] = $2 } next }
    $1 in rank { print rank[$1], $2, parts[$1]; next }
    { print 1000, $2, 1 }' "$(dirname "$0")/slow.txt" - |
    sort -sn -k1,1 | cut -d' ' -f2- >"$logs/order"

# A line for each part: the program, the part, its log.
while read -r t parts; do
    for part in $(seq "$parts"); do
        echo "$t $part/$parts $(log_of "$t").$part"
    done
done <"$logs/order" |
    xargs -P "${TEST_JOBS:-$(($(nproc) * 7))}" -n 3 sh -c '
    start=$(date +%s)
    case " ${TEST_TOGETHER:-} " in *" ${1#*/tests/test_} "*) export CK_FORK=no ;; esac
    HF_TEST_PART=$2 "$1" >"$3" 2>&1
    echo $? >"$3.code"
    echo "$(($(date +%s) - start)) s: $1 $2" | cat "$3" -' -

# How a program of so many parts ended: as the worst of them did.
code_of() {
    cat "$(log_of "$1")".*.code 2>/dev/null | awk -v parts="$2" '
        $1 == 77 { skipped = 1 }
        $1 != 0 && $1 != 77 { failed = 1 }
        END { print NR < parts || failed ? 1 : skipped ? 77 : 0 }'
}

passed=0 failed=0 skipped=0
while read -r t parts; do
    case $(code_of "$t" "$parts") in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)); echo "skipped: $t" ;;
    *) failed=$((failed + 1)); echo "FAILED: $t"
       tail -n 40 "$(log_of "$t")".*[0-9] 2>/dev/null ;;
    esac
done <"$logs/order"
echo "programs: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
