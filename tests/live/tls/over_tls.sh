#!/bin/sh
# over_tls.sh PROGRAM...: live tests of locks and clusters over mutual TLS. It
# runs itself as their server (HF_TEST_SERVER): a redis-server whose port speaks
# that, and whose cluster bus does.
set -eu

if [ -n "${HF_TEST_TLS-}" ]; then
    [ "$1" = --port ] # tests/support/server.c begins with it
    port=$2
    shift 2
    exec redis-server --port 0 --tls-port "$port" "$@" \
        --tls-ca-cert-file "$HF_TEST_TLS/ca" \
        --tls-cert-file "$HF_TEST_TLS/server" \
        --tls-key-file "$HF_TEST_TLS/server" --tls-auth-clients yes \
        --tls-cluster yes --tls-replication yes
fi

[ $# -gt 0 ] || { echo "usage: $0 PROGRAM..." >&2; exit 2; }
certs=$(mktemp -d)
trap 'rm -rf "$certs"' EXIT
trap 'exit 130' INT TERM

# A certificate with its key, signed by the CA.
make_cert() { # name, alternative name
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" \
        -addext "subjectAltName=$2" -addext basicConstraints=CA:FALSE \
        -CA "$certs/ca" -CAkey "$certs/ca.key" \
        -keyout "$certs/$1.key" -out "$certs/$1" 2>/dev/null
    cat "$certs/$1.key" >>"$certs/$1"
}
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=CA \
    -keyout "$certs/ca.key" -out "$certs/ca" 2>/dev/null
make_cert server IP:127.0.0.1
make_cert client DNS:client

HF_TEST_TLS=$certs HF_TEST_SERVER=$PWD/$0 tests/run.sh "$@"
