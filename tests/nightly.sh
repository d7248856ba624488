#!/bin/sh
# nightly.sh BUILD PROGRAMS SECONDS [short]: random runs of every kind, one after the
# other, until the time is over. Each kind of run is a unit; the next call continues after
# the unit that ended last. The programs are those of the build folder PROGRAMS. Results
# are appended to BUILD/nightly/results.tsv, a line for each run:
#
#     DATE UNIT SECONDS RUNS OPERATIONS OUTCOME LOG PROGRAMS
#
# OUTCOME is "good", "finding" (a property was violated, a test failed) or "fatal" (a
# crash, or P1: two owners held one lock). The log of each run that is not good is
# kept. At the end a page is written: BUILD/nightly/report.txt and report.html.
#
# Exit code: 0 no finding, 1 findings, 2 a fatal one. "short" runs each unit for a
# few seconds, once, and returns 2 for fatal findings and otherwise 0: it is the last
# step of .ci/run, which random runs must not hold back.
set -u

build=$1 programs=$2 budget=$3 short=${4:-}
out=$build/nightly
results=$out/results.tsv
mkdir -p "$out/logs" "$out/corpus"
[ -e "$results" ] || : >"$results"
jobs=$(nproc)
sim=$(realpath "$programs/tests/sim/sim")
begin=$(date +%s)

# The units, in their order, and how many seconds a run of one takes.
families='plain nonreentrant fenced read_write fair value spin permit semaphore latch
    quorum multi election by_owner kill redirect crowd silence credentials push
    hosts switchover proxy disagree queues messages names labels outage'
worlds='worlds_multi worlds_quorum worlds_election worlds_by_owner worlds_threads'
units="sim $families $worlds chaos one_address fuzz exhaust redisson examples coverage sanitized trixie"
unit_seconds=120
if [ -n "$short" ]; then
    units="sim spin permit semaphore latch quorum multi election by_owner $worlds"
    unit_seconds=2
    [ -z "$(find build-fuzz/guided -name 'fuzz_*' 2>/dev/null)" ] ||
        units="$units fuzz"
fi

# Plans of seeds that fail are left in the corpus, which make sim runs first.
seeds() { (cd "$out/corpus" && "$sim" --seconds $unit_seconds --jobs "$jobs" "$@"); }

# NAME COUNT: worlds without a plan, COUNT fresh seeds for each second.
worlds() {
    first=$(($(od -An -N4 -tu4 /dev/urandom) + 10000))
    upper=$(echo "$1" | tr a-z A-Z)
    env "${upper}_SEEDS=$first..$((first + unit_seconds * $2))" \
        timeout $((unit_seconds * 10)) "$programs/tests/sim/test_$1"
}

fuzz_all() {
    for harness in build-fuzz/guided/fuzz_*; do
        case $harness in *.*|*_corpus*) continue ;; esac
        fuzz/run.sh guided "${harness##*/fuzz_}" \
            -max_total_time=$((unit_seconds / 10 + 1)) || return 1
    done
}

run_unit() {
    case $1 in
    sim) seeds ;;
    worlds_threads) worlds threads 200 ;;
    worlds_*) worlds "${1#worlds_}" 4 ;;
    chaos) HF_SECONDS=$unit_seconds "$programs/tests/soak/chaos" ;;
    one_address) HF_SWITCHES=$((unit_seconds / 10)) "$programs/tests/soak/one_address" ||
        [ $? = 77 ] ;;
    fuzz) fuzz_all ;;
    redisson) make --no-print-directory BUILD="$programs" soak-redisson \
            REDISSON_SOAK_TIME=$unit_seconds ;;
    examples) make --no-print-directory BUILD="$programs" judge-examples ;;
    coverage) make --no-print-directory BUILD="$build" ASSERTS=no sim-coverage ;;
    sanitized) make --no-print-directory SANITIZE=address,undefined CFLAGS='-O1 -g' \
            ALL=yes check ;;
    trixie) [ "$(id -u)" != 0 ] || make --no-print-directory check-trixie ;;
    exhaust) make --no-print-directory BUILD="$programs" exhaust ;;
    *) seeds --family "$1" ;;
    esac
}

# What a log says of its run: runs and operations.
counts() {
    awk '
    / seeds in .* operations/ {
        runs += $1
        for (i = 2; i <= NF; i++) if ($i ~ /^operations/) ops += $(i - 1)
    }
    / worlds, .* operations/ {
        runs += $1
        for (i = 2; i <= NF; i++) if ($i ~ /^operations/) ops += $(i - 1)
    }
    /^[a-z_]+ guided [0-9]/ { runs++; ops += $3 }
    END { printf "%d\t%d\n", runs, ops }' "$1"
}

outcome() {
    if [ "$2" = 0 ]; then
        echo good
    elif [ "$2" -gt 3 ] || grep -qE \
        'crashes|^seed [0-9]+ fails: P1:|(^|[ "])P1[,:] |Sanitizer|signal [0-9]|fuzz: a finding' "$1"
    then
        echo fatal
    else
        echo finding
    fi
}

fatal=0 found=0
run_and_note() {
    log=$out/logs/$(date +%Y%m%dT%H%M%S)-$1.log
    from=$(date +%s)
    run_unit "$1" >"$log" 2>&1
    how=$(outcome "$log" $?)
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(date -u +%FT%TZ)" "$1" \
        $(($(date +%s) - from)) "$(counts "$log")" "$how" "$log" "$programs" >>"$results"
    case $how in
    good) rm -f "$log" ;;
    fatal) fatal=$((fatal + 1)) ;;
    *) found=$((found + 1)) ;;
    esac
    if [ "$how" != good ]; then
        echo "*** nightly: $1: $how: $log"
        tail -n 40 "$log"
    else
        tail -n 1 "$results" | cut -f2-6
    fi
}

# The unit after the one that ended last.
after_last() {
    last=$(tail -n 1 "$results" | cut -f2)
    printf '%s\n' $units $units | awk -v last="$last" '
        on && !done { print; done = 1 }
        $1 == last { on = 1 }
        END { if (!done) print "sim" }'
}

is_over() { [ $(($(date +%s) - begin)) -ge "$budget" ]; }

if [ -n "$short" ]; then
    for unit in $units; do
        run_and_note "$unit"
    done
else
    while ! is_over; do
        run_and_note "$(after_last)"
    done
fi
"$(dirname "$0")/nightly_page.sh" "$results" "$out"
echo "nightly: $out/report.txt, $out/report.html"
if [ $fatal -gt 0 ]; then
    exit 2
fi
[ -n "$short" ] || [ $found = 0 ]
