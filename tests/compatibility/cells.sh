#!/bin/sh
# cells.sh BUILD [NAME...]: kinds of locks, and commands, times what fetch.sh has unpacked
# (or those named); a row for each, and 1 if a cell that is not in expected.txt failed,
# or one that is there did not. Logs are in BUILD/servers/NAME/cells/.
#
# A kind works ("ok") if a command that holds its lock for longer than the TTL ends with
# 0, and another command that waits gets the lock after it. Proxies are put before Redis
# of bookworm; nutcracker and Envoy before two, which they choose by the hash tag. The name
# "hosts" is a master and its replica of that Redis, as a URL of two hosts.
set -eu

[ $# -gt 0 ] || { echo "usage: $0 BUILD [NAME...]" >&2; exit 2; }
holdfast=$1/holdfast
logs=$1/servers
cache=$PWD/build-servers
behind=bookworm-redis
expected=tests/compatibility/expected.txt
shift

kinds='plain fair read write fenced value permits multi elect'
commands='status unlock ls watch doctor'

if [ $# = 0 ]; then
    for version in "$cache"/*/version; do
        [ ! -e "$version" ] || set -- "$@" "$(basename "${version%/*}")"
    done
    [ ! -e "$cache/$behind/version" ] || set -- "$@" hosts
fi
[ $# -gt 0 ] || { echo "skipped: nothing is unpacked"; exit 0; }

pids=
end_all() {
    [ -z "$pids" ] || kill $pids 2>/dev/null || :
    [ -z "$pids" ] || wait $pids 2>/dev/null || :
    pids=
}
trap end_all EXIT
trap 'exit 130' INT TERM

# ---- starting ----

# Another process may have the port that was chosen: then the server ends at once.
port=$((20000 + $$ % 10000))
next_port() {
    port=$((port + 1))
}

config_haproxy() {
    cat <<END
global
    noreuseport
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
listen redis
    bind 127.0.0.1:$port
    server a 127.0.0.1:$1
END
}

config_nutcracker() {
    cat <<END
locks:
  listen: 127.0.0.1:$port
  redis: true
  hash: fnv1a_64
  hash_tag: "{}"
  distribution: ketama
  timeout: 5000
  servers:
  - 127.0.0.1:$1:1
  - 127.0.0.1:$2:1
END
}

endpoint() {
    echo "{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: $1}}}}"
}

config_envoy() {
    cat <<END
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: $port}}
    enable_reuse_port: false
    filter_chains:
    - filters:
      - name: envoy.filters.network.redis_proxy
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProxy
          stat_prefix: redis
          settings: {op_timeout: 5s, enable_hashtagging: true}
          prefix_routes: {catch_all_route: {cluster: redis}}
  clusters:
  - name: redis
    type: STATIC
    lb_policy: MAGLEV
    load_assignment:
      cluster_name: redis
      endpoints: [{lb_endpoints: [$(endpoint "$1"), $(endpoint "$2")]}]
END
}

# begin NAME [PORT...]: starts it, before servers at these ports; its log is in $dir.
begin() {
    log=$dir/$1-$port.log
    case $1 in
    *-haproxy) config_haproxy "$2" >"$dir/haproxy.cfg"
        "$cache/$1/proxy" -f "$dir/haproxy.cfg" ;;
    *-nutcracker) config_nutcracker "$2" "$3" >"$dir/nutcracker.yml"
        "$cache/$1/proxy" -c "$dir/nutcracker.yml" -a 127.0.0.1 \
            -s $((port + 10000)) -o "$dir/nutcracker.log" ;;
    *-envoy) config_envoy "$2" "$3" >"$dir/envoy.yml"
        "$cache/$1/proxy" -c "$dir/envoy.yml" --concurrency 1 \
            --base-id $((port % 10000)) ;;
    *-miniredis) "$cache/$1/miniredis" "$port" ;;
    *) "$cache/$1/server" --port "$port" --bind 127.0.0.1 --save '' ;;
    esac >"$log" 2>&1 &
    pid=$!
}

# Until it replies: 10 s. False: it ended, or it does not reply.
await() {
    for i in $(seq 100); do
        kill -0 "$pid" 2>/dev/null || return 1
        "$holdfast" status -q -u "redis://127.0.0.1:$port" \
            --connect-timeout 2s ready >/dev/null 2>&1 && return 0
        [ $? != 1 ] || return 0
        sleep 0.1
    done
    return 1
}

start() {
    for attempt in 1 2 3 4 5; do
        next_port
        begin "$@"
        if await; then
            pids="$pids $pid"
            return 0
        fi
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    echo "$1 does not start: $log" >&2
    return 1
}

start_with_servers() {
    hosts=
    case $1 in
    hosts)
        start $behind || return 1
        master=$port hosts=127.0.0.1:$port,
        start $behind || return 1
        "$cache/$behind/cli" -p "$port" REPLICAOF 127.0.0.1 "$master" >/dev/null ;;
    *-haproxy)
        start $behind || return 1
        start "$1" "$port" ;;
    *-nutcracker | *-envoy)
        start $behind || return 1
        first=$port
        start $behind && start "$1" "$first" "$port" ;;
    *) start "$1" ;;
    esac
}

# ---- a cell: 0, and what is wrong on standard error if not ----

holds() {
    verb=$1
    shift
    rm -f "$dir/$kind.held"
    timeout 60 "$holdfast" "$verb" --ttl 2s "$@" "$kind" -- \
        sh -c "echo held >'$dir/$kind.held'; exec sleep 3" 2>"$dir/$kind.holder" &
    holder=$!
    while [ ! -e "$dir/$kind.held" ] && kill -0 $holder 2>/dev/null; do
        sleep 0.05
    done
    rc=0
    timeout 60 "$holdfast" "$verb" "$@" "$kind" -- true || rc=$?
    wait $holder || { rc=$?; cat "$dir/$kind.holder" >&2; }
    return $rc
}

# `watch` shows a lock that is taken and released, then is ended.
watches() {
    timeout 20 "$holdfast" watch watched >"$dir/watched" &
    watcher=$!
    for i in $(seq 100); do
        timeout 20 "$holdfast" run watched -- true || return 1
        ! grep -q watched "$dir/watched" || break
        sleep 0.1
    done
    kill $watcher 2>/dev/null || :
    wait $watcher || [ $? = 143 ] || return 1
    grep -q watched "$dir/watched" || { echo "watch shows nothing" >&2; return 1; }
}

unlocks() {
    "$holdfast" acquire --lease 60 forced >/dev/null || return 1
    "$holdfast" unlock --force -y forced >/dev/null
}

statuses() {
    handle=$("$holdfast" acquire --lease 60 seen) || return 1
    "$holdfast" status seen >/dev/null || return 1
    "$holdfast" renew --lease 30 seen "$handle" >/dev/null 2>"$dir/renew" || :
}

# 125 is an error; less is what it found.
doctors() {
    rc=0
    "$holdfast" doctor >/dev/null || rc=$?
    [ $rc -lt 125 ]
}

cell() {
    kind=$1
    case $1 in
    plain) holds run ;;
    fair) holds run --fair ;;
    read) holds run -s ;;
    write) holds run -x ;;
    fenced) holds run --fenced ;;
    value) holds run --value ;;
    permits) holds run --permits 1 ;;
    multi) holds run --multi another ;;
    elect) holds elect --once ;;
    status) statuses ;;
    unlock) unlocks ;;
    ls) "$holdfast" ls --limit 1000 >/dev/null ;;
    watch) watches ;;
    doctor) doctors ;;
    esac
}

# The last line of the cell's log is "rc N".
run_cell() {
    (
        cell_rc=0
        cell "$1" || cell_rc=$?
        echo "rc $cell_rc" >&2
    ) >"$dir/$1.out" 2>"$dir/$1.log"
}

# ---- the table ----

# Where NAME was unpacked.
folder() {
    [ "$1" = hosts ] && echo "$cache/$behind" || echo "$cache/$1"
}

version() {
    sed "$([ "$1" != hosts ] || echo 's/$/, two hosts/')" "$(folder "$1")/version"
}

outcome() {
    case $(tail -n 1 "$dir/$1.log") in
    "rc 0") echo ok ;;
    *) echo no ;;
    esac
}

is_expected() {
    grep -q "^$1 $2 no" "$expected"
}

all_rc=0 notes=
check_cell() {
    said=$(sed '$d' "$dir/$2.log" | tail -n 1)
    [ "$3" = ok ] || notes="$notes
$1, $2: $said"
    if [ "$3" = ok ]; then
        ! is_expected "$1" "$2" || { all_rc=1; notes="$notes
$1, $2: works; $expected says that it does not"; }
    else
        is_expected "$1" "$2" || all_rc=1
    fi
}

print_row() {
    printf '| %-16s ' "$1"
    shift
    for text; do
        printf '| %-7s ' "$text"
    done
    printf '|\n'
}

cells=$(echo $kinds $commands)
print_row "" $cells
print_row --- $(for c in $cells; do echo ---; done)
for name; do
    [ -e "$(folder "$name")/version" ] ||
        { echo "skipped: $name (not unpacked)"; continue; }
    dir=$logs/$name/cells
    rm -rf "$dir" && mkdir -p "$dir"
    if ! start_with_servers "$name"; then
        all_rc=1
        end_all
        continue
    fi
    export HOLDFAST_URL="redis://${hosts}127.0.0.1:$port"
    running=
    for c in $cells; do
        run_cell "$c" &
        running="$running $!"
    done
    wait $running
    row=
    for c in $cells; do
        row="$row $(outcome "$c")"
    done
    print_row "$(version "$name")" $row
    for c in $cells; do
        check_cell "$name" "$c" "$(outcome "$c")"
    done
    end_all
done
[ -z "$notes" ] || echo "$notes"
exit $all_rc
