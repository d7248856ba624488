#!/bin/bash
# judge.sh JUDGE FOLDER CLIENT...: judges any client of a lock. Starts a redis-server of
# its own, runs CLIENT three times, and gives the history (FOLDER/history.txt) to JUDGE,
# whose output and exit code are its own.
#
# CLIENT... NUMBER PORT SECONDS acquires "job" for 2 s, works for SECONDS, releases it,
# and writes its lines to standard output. The first one is suspended (SIGSTOP) while it
# holds the lock, until the second one holds it; the third one waits meanwhile.
set -euo pipefail

judge=$1 out=$2
shift 2
client=("$@")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
rm -f "$out"/c?.log "$out"/s1.log "$out"/w.log

# This socket reserves the port: only who binds with SO_REUSEADDR, as the server does, can
# listen beside it.
exec 3< <(exec python3 -c 'import signal, socket
s = socket.socket(); s.bind(("127.0.0.1", 0))
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
print(s.getsockname()[1], flush=True); signal.pause()')
pids=($!)
read -r port <&3
exec 3<&-
redis-server --port "$port" --bind 127.0.0.1 --save '' --daemonize no >"$out/server.log" &
pids+=($!)
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
until redis-cli -p "$port" ping >/dev/null 2>&1; do sleep 0.05; done
python3 "$here/watch.py" "$port" job >"$out/s1.log" &
pids+=($!)
until redis-cli -p "$port" client list | grep -q cmd=monitor; do sleep 0.05; done

say() { echo "${EPOCHREALTIME/./} $*" >>"$out/w.log"; }
start() { "${client[@]}" "$1" "$port" "$2" >"$out/c$1.log" & pids+=($!); last=$!; }
await() { # NUMBER EVENT: waits until that client has written such a line
    for _ in $(seq 400); do
        ! grep -q " $2 " "$out/c$1.log" || return 0
        sleep 0.05
    done
    echo "judge.sh: client $1 has not written '$2'" >&2
    exit 2
}

start 1 0.5
first=$last
await 1 safe
kill -STOP "$first"
say c1 stop
start 2 1.8
second=$last
await 2 safe
start 3 0.3
third=$last
await 3 ask
sleep 0.1
say c1 go
kill -CONT "$first"
wait "$first" "$second" "$third"
sleep 0.2
say w over

# P2 to the user means: the belief has ended when the server lets go. Times of the
# server and of the clients differ by less than slack_ms.
{
    echo '# holdfast history 1'
    echo '# slack_ms 50'
    echo '# judge 1279'
    cat "$out"/s1.log "$out"/c?.log "$out"/w.log | sort -s -n -k1,1
} >"$out/history.txt"
"$judge" --overlap "$out/history.txt"
