#!/bin/sh
# run.sh BUILD [NAME]: every bench, or one, beside its peers, on a private server.
set -eu

folder=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || :; wait 2>/dev/null || :; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# A free port: the first that a server can bind.
port=17000
while :; do
    redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no \
        --dir "$folder" >"$folder/log" 2>&1 &
    server=$!
    until grep -q 'Ready to accept' "$folder/log"; do
        kill -0 $server 2>/dev/null || break
    done
    kill -0 $server 2>/dev/null && break
    port=$((port + 1))
done

for b in "$1"/bench/bench_${2:-*}; do
    case $b in
    *.o | *.d) continue ;;
    *bench_lock) echo "== lock"; "$b" $port ;;
    *) echo "== ${b##*/bench_}"; "$b" ;;
    esac
done
