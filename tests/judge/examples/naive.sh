#!/bin/bash
# naive.sh NUMBER PORT SECONDS: a lock as it is often written: SET NX PX, and DEL without
# a check. Writes its lines of the history to standard output: it acquires "job" for 2 s,
# works, and releases it. Nothing tells the user how long the lock is safe.
n=$1 port=$2
say() { echo "${EPOCHREALTIME/./} c$n $*"; }
redis() { redis-cli -p "$port" "$@"; }

say ask call=1 op=acquire lock=job owner="c$n"
until [ "$(redis set job "c$n" nx px 2000)" = OK ]; do sleep 0.05; done
say end call=1 status=OK
say safe lock=job owner="c$n" until=never
sleep "$3"
say safe lock=job owner="c$n" until=0
say ask call=2 op=release lock=job owner="c$n"
redis del job >/dev/null
say end call=2 status=OK
