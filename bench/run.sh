#!/bin/sh
# run.sh BUILD [NAME]: every bench, or one, beside its peers, on a private
# server that listens on TCP, on a Unix socket and on TLS. Both are loaded with
# BENCH_PRELOAD, if it is set.
set -eu

folder=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || :; wait 2>/dev/null || :; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -days 2 \
    -keyout "$folder/key" -out "$folder/cert" 2>/dev/null

# Free ports: the first two that a server can bind.
port=17000
while :; do
    env ${BENCH_PRELOAD:+LD_PRELOAD="$BENCH_PRELOAD"} \
        redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no \
        --unixsocket "$folder/socket" --tls-port $((port + 1)) \
        --tls-cert-file "$folder/cert" --tls-key-file "$folder/key" \
        --tls-ca-cert-file "$folder/cert" --tls-auth-clients no \
        --dir "$folder" >"$folder/log" 2>&1 &
    server=$!
    until grep -q 'Ready to accept' "$folder/log"; do
        kill -0 $server 2>/dev/null || break
    done
    kill -0 $server 2>/dev/null && break
    port=$((port + 2))
done
redisson=$(ls -d "$1"/redisson/*/ 2>/dev/null | sort -V | tail -1)
export BENCH_PID=$server BENCH_PORT=$port BENCH_SOCKET="$folder/socket" \
    BENCH_TLS_PORT=$((port + 1)) BENCH_CA="$folder/cert" \
    BENCH_REDISSON="${BENCH_REDISSON:-$redisson}" BENCH_HOLDFAST="$1/holdfast" \
    BENCH_RUEIDISLOCK="$(ls build-peers/rueidislock/rueidislock 2>/dev/null)"

for b in "$1"/bench/bench_${2:-*}; do
    case $b in
    *.o | *.d) continue ;;
    *)
        echo "== ${b##*/bench_}"
        env ${BENCH_PRELOAD:+LD_PRELOAD="$BENCH_PRELOAD"} "$b" ${BENCH_ARGS:-}
        ;;
    esac
done
