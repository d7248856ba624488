#!/bin/sh
# demo.sh HOLDFAST: what holdfast does, shown on a private server, or on that of
# HOLDFAST_URL.
set -eu

holdfast=$1
name=holdfast-demo-$$
server='' folder=$(mktemp -d)
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    wait 2>/dev/null || :
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '\n-- %s\n' "$*"; }

start_server() {
    redis-server --port 0 --unixsocket "$folder/sock" --save '' \
        --appendonly no --dir "$folder" >"$folder/log" &
    server=$!
    until grep -qi "ready to accept" "$folder/log" 2>/dev/null; do
        kill -0 $server || { cat "$folder/log"; exit 1; }
    done
    HOLDFAST_URL=unix://$folder/sock
}

[ -n "${HOLDFAST_URL:-}" ] || start_server
export HOLDFAST_URL holdfast name

say 'Two processes, one lock. The second waits, and is woken by the release.'
mkfifo "$folder/held"
"$holdfast" run $name -- sh -c 'echo "first: I hold it"; : >"$1"; sleep 1; echo "first: done"' \
    - "$folder/held" &
first=$!
: <"$folder/held"
"$holdfast" run --verbose $name -- echo 'second: now I hold it'
wait $first

say 'A hold is renewed each third of its TTL (here 1.5 s), as long as it runs.'
"$holdfast" run --ttl 1.5s --status-fd 1 $name -- sleep 1.8

say 'What the server knows while it is held:'
"$holdfast" run $name -- sh -c '"$holdfast" status "$name"'

say 'A re-entry: the inner run finds that we hold it already.'
"$holdfast" run $name -- "$holdfast" run --verbose $name -- echo 'inner: ran under the same hold'

say 'A lock that is lost on purpose: deleted while the command runs. Exit code 122.'
rc=0
"$holdfast" run --verbose --ttl 1.5s $name -- \
    sh -c '"$holdfast" unlock "$name" --force -y; exec sleep 60' || rc=$?
echo "exit code: $rc"
[ $rc = 122 ]

say 'The state now:'
"$holdfast" status $name || :
