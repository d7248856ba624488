#!/bin/sh
# run.sh BUILD: value locks, and quorums of them, beside those who lock by SET NX PX,
# too: redis-py, redsync and node-redlock. What is not installed, or cannot be fetched,
# is skipped.
#
# Each is a program that is told lines on its standard input, after it has said
# "ready", and answers each by a line; both begin with the number of a thread, 1:
#     try NAME             one try                      true, false
#     acquire NAME [MS]    waits; a lease of so long    ok, timeout
#     release NAME         what it has acquired         ok, refused
#     count NAME KEY N     N times: acquires, adds 1 to the number at KEY by reading
#                          and writing it, releases     ok
set -eu

here=$PWD/tests/others
programs=$PWD/$1/tests/others
build=$PWD/$1/others
mkdir -p "$build"

skip() { echo "skipped: $1 ($2)"; }

# beside NAME PROGRAM...: one server. most NAME PROGRAM...: three, too.
beside() {
    echo "beside $1:"
    shift
    HF_OTHER=$* "$programs/test_others"
}

most() {
    beside "$@"
    shift
    HF_OTHER=$* "$programs/test_others_quorum"
}

if ! command -v python3 >/dev/null; then
    skip redis-py "needs python3"
elif [ -e "$build/python/redis" ] || python3 -m pip install -q \
        --target "$build/python" redis==8.1.0 >"$build/pip.log" 2>&1; then
    beside redis-py env PYTHONPATH="$build/python" python3 "$here/redis_py.py"
else
    skip redis-py "it cannot be fetched: $build/pip.log"
fi

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    skip node-redlock "needs node and npm"
elif [ -e "$build/node/node_modules" ] || npm install -s \
        --prefix "$build/node" redlock@5.0.0-beta.2 ioredis@5 \
        >"$build/npm.log" 2>&1; then
    most node-redlock env NODE_PATH="$build/node/node_modules" node \
        "$here/redlock.js"
else
    skip node-redlock "it cannot be fetched: $build/npm.log"
fi

get() {
    mkdir -p "$build/go"
    cp "$here/redsync.go" "$build/go/main.go"
    cd "$build/go"
    [ -e go.mod ] || go mod init others
    [ -e go.sum ] ||
        go get github.com/go-redsync/redsync/v4@v4.13.0 github.com/redis/go-redis/v9
    go build -o redsync
}

if ! command -v go >/dev/null; then
    skip redsync "needs go"
elif (get) >"$build/go.log" 2>&1; then
    most redsync "$build/go/redsync"
else
    skip redsync "it cannot be fetched or built: $build/go.log"
fi
