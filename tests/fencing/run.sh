#!/bin/bash
# run.sh BUILD: the checkers of examples/fencing/ against real servers: Redis,
# SQLite, and a PostgreSQL of its own, in a temporary folder and on no port. What is
# not installed is skipped.
set -euo pipefail

build=$1
dir=$(mktemp -d)
server=
stop() {
    if [ -n "$server" ]; then
        kill -INT "$server" 2>/dev/null || true # do not wait for clients
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

# Debian keeps PostgreSQL's programs, of each version, out of the path.
find_postgresql() {
    local bin

    bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
    [ -d "$bin" ] && PATH=$PATH:$bin
    command -v initdb >/dev/null && command -v postgres >/dev/null &&
        command -v psql >/dev/null
}

find_postgresql && command -v sqlite3 >/dev/null ||
    tests/deps.sh deps-fencing || true

# PostgreSQL refuses to run as root.
as=()
if [ "$(id -u)" = 0 ]; then
    user=$(id -un postgres 2>/dev/null || echo nobody)
    as=(setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups --)
    chown "$user" "$dir"
fi

start_postgresql() {
    "${as[@]}" initdb -D "$dir/data" -U postgres -A trust --no-locale -E UTF8 -N \
        >"$dir/log" 2>&1 || { cat "$dir/log"; return 1; }
    "${as[@]}" postgres -D "$dir/data" -k "$dir" -c listen_addresses= \
        -c fsync=off >"$dir/log" 2>&1 &
    server=$!
    until pg_isready -q -h "$dir"; do
        kill -0 "$server" || { cat "$dir/log"; return 1; }
    done
}

cd_to=$PWD
if find_postgresql; then
    cd "$dir" # the other user may not see this folder
    start_postgresql
    cd "$cd_to"
    export HF_FENCING_PG=$dir
    echo "fencing: $(postgres --version)"
else
    echo "skipped: PostgreSQL"
fi
command -v sqlite3 >/dev/null || echo "skipped: SQLite"
"$build/tests/live/example/test_fencing"
