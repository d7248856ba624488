#!/bin/sh
# each.sh BUILD [NAME...]: the live test programs of BUILD against each server
# that fetch.sh has unpacked (or those named; not proxies and miniredis); a row for each, and 1 if a program
# failed. What a program said is in BUILD/servers/NAME/. HF_TEST_PROGRAMS in the
# environment ('cluster*') names fewer programs.
set -eu

[ $# -gt 0 ] || { echo "usage: $0 BUILD [NAME...]" >&2; exit 2; }
cache=$PWD/build-servers
build=$1
shift
trap 'exit 130' INT TERM

if [ $# = 0 ]; then
    for server in "$cache"/*/server; do
        [ ! -e "$server" ] || set -- "$@" "$(basename "${server%/*}")"
    done
fi
[ $# -gt 0 ] || { echo "skipped: no server is unpacked"; exit 0; }

programs=
for program in "$build"/tests/live/*/test_${HF_TEST_PROGRAMS:-*}; do
    [ ! -f "$program" ] || [ ! -x "$program" ] || programs="$programs $program"
done
[ -n "$programs" ] || { echo "$0: no live tests in $build" >&2; exit 1; }

# 0 passed, 1 failed, 77 skipped.
try() {
    rc=0
    HF_TEST_SERVER=$cache/$1/server "$2" >"$3" 2>&1 || rc=$?
    [ $rc = 0 ] || [ $rc = 77 ] || rc=1
}

all_rc=0 details=
row='| %-25s | %-14s | %6s | %6s | %7s |\n'
printf "$row" server version passed failed skipped
printf "$row" --- --- ---: ---: ---:
for name; do
    [ -e "$cache/$name/server" ] ||
        { echo "skipped: $name (not unpacked)"; continue; }
    logs=$build/servers/$name
    mkdir -p "$logs"
    passed=0 failed=0 skipped=0
    for program in $programs; do
        log=$logs/${program##*/}.log
        try "$name" "$program" "$log"
        case $rc in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)) ;;
        *) failed=$((failed + 1)) all_rc=1 details="$details $log" ;;
        esac
    done
    printf "$row" "$name" "$(cat "$cache/$name/version")" $passed $failed \
        $skipped
done

# libcheck names a failed test with its kind: F, or E for a signal or a timeout.
for log in $details; do
    printf '\nFAILED: %s\n' "$log"
    grep -E '^[0-9]+%|:[FE]:' "$log" || tail -n 20 "$log"
done
exit $all_rc
