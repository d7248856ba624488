#!/bin/bash
# run.sh BUILD MUTANTS TESTS HARNESSES: do the tests notice? Puts each bug of a
# file of mutants, alone, into a copy of the tree, runs the tests until one fails,
# and then the fuzz harnesses on their corpora. Prints a table of which it was,
# after how many seconds of a processor. 0 if every bug was caught, by the one or
# the other. TESTS are asked of a mutant that does not name its own.
# ONLY=net/route/round.c: the mutants of that file. SANITIZE=address,undefined
# builds them with it. HF_ASSERT is checked: some bugs break nothing else.
set -euo pipefail

here=$PWD/tests/mutants
out=$1/mutants
mutants=$here/${2:?}
default=$3 harnesses=$4         # programs, by their names in BUILD
seconds_max=180         # for one of them, on a busy machine; with sanitizers, too

# TESTS, as they are to be asked.
build() {
    tests=$*
    make -s -C "$out/tree" BUILD=build ASSERTS=yes CFLAGS="${CFLAGS:--O1}" WARN=-w \
        $(printf 'build/%s ' $tests $harnesses) >"$out/log" 2>&1 ||
        { cat "$out/log"; return 1; } >&2
}

# By `exit` it is this shell, not ours, that speaks of a crash.
in_tree() { (cd "$out/tree" && timeout $seconds_max "$@" || exit) 2>&1; }

# PROGRAM: the first of its tests to fail; nothing if all pass. It is ended there.
# Where it dies without a word, it says behind which test.
first_failure() {
    { in_tree stdbuf -oL "build/$1" || echo "died $?"; } | awk '
        / - (\.\/)?tests\// { split($0, part, ":"); test = part[3] }
        /^not ok /   { print test; exit }
        /^died /     { print ($2 == 124 ? "no end" : "crash"), \
                           (test ? "in or behind " test : "at once"); exit }' || :
}

first_test() {
    local program failure
    for program in $tests; do
        failure=$(first_failure "$program")
        [ -z "$failure" ] || { echo "${program##*/}: $failure"; return; }
    done
}

first_harness() {
    local program
    for program in $harnesses; do
        in_tree "build/$program" >"$out/log" || { echo "${program##*/}"; return; }
    done
}

# N FILE KIND BUG TESTS: one line of the table.
try() {
    local file=$out/tree/$2 TIMEFORMAT='%U %S' test seconds harness
    cp "$file" "$out/original"
    cp "$out/sources/$1" "$file"
    build $5
    test=$({ time first_test; } 2>"$out/time")
    seconds=$(awk '{ printf "%.2f", $1 + $2 }' "$out/time")
    harness=$(first_harness)
    echo "| $3 | $4 | ${test:-none} | $seconds | ${harness:-none} |"
    cp "$out/original" "$file"
    [ -n "$test$harness" ] || survivors=$((survivors + 1))
}

rm -rf "$out"
mkdir -p "$out/tree" "$out/sources"
cp -r Makefile mk resp net lock fuzz tests "$out/tree"
# A bug may ask for memory without end; the tests map less than this. Sanitizers
# map more.
[ -n "${SANITIZE:-}" ] || ulimit -v 8000000
# stdbuf puts a library in front of all others.
export ASAN_OPTIONS=verify_asan_link_order=0
export CK_TAP_LOG_FILE_NAME=- CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-20} LC_ALL=C
export QUORUM_SEEDS=${QUORUM_SEEDS:-1..300} MULTI_SEEDS=${MULTI_SEEDS:-1..150} \
    ELECTION_SEEDS=${ELECTION_SEEDS:-1..150} \
    BY_OWNER_SEEDS=${BY_OWNER_SEEDS:-1..150} THREADS_SEEDS=${THREADS_SEEDS:-1..6000}

(cd "$out/tree" && awk -v out="../sources" -v tests="$default" \
    -v only="${ONLY:-}" -f "$here/apply.awk" "$mutants") >"$out/list"
build $(cut -f 5 "$out/list" | tr ' ' '\n' | sort -u)
wrong=$(first_test; first_harness)
[ -z "$wrong" ] || { echo "without any mutant: $wrong" >&2; exit 1; }

survivors=0
echo '| kind | bug | first test to fail | seconds | harness, on its corpus |'
echo '| --- | --- | --- | --- | --- |'
while IFS=$'\t' read -r n file kind bug tests_of_it; do
    try "$n" "$file" "$kind" "$bug" "$tests_of_it"
done <"$out/list"
echo
echo "$(wc -l <"$out/list") mutants, $survivors survived"
[ $survivors = 0 ]
