#!/bin/sh
# demo.sh HOLDFAST: what holdfast does, shown on a private server.
set -eu

holdfast=$1
folder=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    wait 2>/dev/null || :
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '\n-- %s\n' "$*"; }
redis() { redis-cli -s "$folder/sock" "$@"; }

redis-server --port 0 --unixsocket "$folder/sock" --save '' --appendonly no \
    --dir "$folder" >"$folder/log" &
server=$!
until grep -qi "ready to accept" "$folder/log" 2>/dev/null; do
    kill -0 $server || { cat "$folder/log"; exit 1; }
done
HOLDFAST_URL=unix://$folder/sock
export HOLDFAST_URL holdfast

say 'Two processes, one lock. The second waits, and is woken by the release.'
mkfifo "$folder/held"
"$holdfast" run demo -- sh -c 'echo "first: I hold it"; : >"$1"; sleep 1; echo "first: done"' \
    - "$folder/held" &
first=$!
: <"$folder/held"
"$holdfast" run --verbose demo -- echo 'second: now I hold it'
wait $first

say 'A hold is renewed each third of its TTL (here 1.5 s), as long as it runs.'
"$holdfast" run --ttl 1.5s --status-fd 1 demo -- sleep 1.8

say 'What the server knows while it is held, just as a Redisson process writes it:'
"$holdfast" run demo -- sh -c 'redis-cli -s "$1" HGETALL demo; redis-cli -s "$1" PTTL demo' \
    - "$folder/sock"

say 'A re-entry: the inner run finds that we hold it already.'
"$holdfast" run demo -- "$holdfast" run --verbose demo -- echo 'inner: ran under the same hold'

say 'A lock that is lost on purpose: deleted while the command runs. Exit code 122.'
rc=0
"$holdfast" run --verbose --ttl 1.5s demo -- sh -c \
    'redis-cli -s "$1" DEL demo >/dev/null; exec sleep 60' - "$folder/sock" || rc=$?
echo "exit code: $rc"
[ $rc = 122 ]

say 'How it stands now:'
"$holdfast" status demo || :
