#!/bin/sh
# busy.sh RUNS LOGS PROGRAM...: runs test programs so many times, beside a busy
# process for each processor. Says which failed in which run, and keeps the logs
# of those runs in the folder LOGS; 0 if none failed.
set -u

runs=$1 logs=$2
shift 2

busy=
for _ in $(seq "$(nproc)"); do
    sh -c 'while :; do :; done' &
    busy="$busy $!"
done
trap 'kill $busy 2>/dev/null' EXIT
trap 'exit 130' INT TERM

mkdir -p "$logs"
red=0
for run in $(seq "$runs"); do
    log=$logs/$run.log start=$(date +%s)
    if "$(dirname "$0")/run.sh" "$@" >"$log" 2>&1; then
        rm -f "$log"
        echo "run $run of $runs: green, $(($(date +%s) - start)) s"
    else
        red=$((red + 1))
        echo "run $run of $runs: $(grep '^FAILED' "$log" | tr '\n' ' ')($log)"
    fi
done
echo "$red of $runs runs failed"
[ "$red" = 0 ]
