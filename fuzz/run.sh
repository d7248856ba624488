#!/bin/sh
# run.sh KIND HARNESS [OPTION...]: one run of libFuzzer in build-fuzz/KIND, with
# the corpus kept for it, the vectors and what earlier runs found. Writes
#     HARNESS KIND EXECUTIONS SECONDS
# or, if there is a finding, the end of the fuzzer's log, and fails; the input
# is then in build-fuzz/findings/.
set -eu

kind=$1 name=$2
shift 2
program=build-fuzz/$kind/fuzz_$name
mine=build-fuzz/corpus/$name
log=build-fuzz/$name-$kind-$$.log
mkdir -p "$mine" build-fuzz/findings build-fuzz/seeds

# What the sanitizer would remember of each block costs more than the parser.
export ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=1:\
thread_local_quarantine_size_kb=16
"$program" -dict="$program.dict" -artifact_prefix="build-fuzz/findings/$name-" \
    -timeout=60 -rss_limit_mb=1024 -print_final_stats=1 -entropic=0 \
    -reload=30 "$@" "$mine" "fuzz/corpus/$name" build-fuzz/seeds >"$log" 2>&1 &
fuzzer=$!
trap 'kill $fuzzer; exit 130' INT TERM
if ! wait $fuzzer; then
    tail -40 "$log" >&2
    echo "fuzz: a finding of $name ($kind), see $log" >&2
    exit 1
fi
awk -v "what=$name $kind" '
/^stat::number_of_executed_units:/ {executions = $2}
/^Done .* runs in/ {seconds = $5}
END {print what, executions, seconds}' "$log"
rm -f "$log"
