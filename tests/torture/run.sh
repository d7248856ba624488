#!/bin/sh
# run.sh BUILD [OPTION...]: fetches the clients, and runs torture.py with the options.
# A client that is not installed, or cannot be fetched, is skipped. Versions:
redisson=4.7.0
redis_py=8.1.0
redlock=5.0.0-beta.2
ioredis=5.11.1
redsync=v4.13.0
go_redis=v9.7.0
set -eu

here=$PWD/tests/torture
build=$(realpath "$1")
out=$build/torture
shift
mkdir -p "$out"

skip() { echo "skipped: $1 ($2)"; }

command -v python3 >/dev/null || { skip torture "needs python3"; exit 0; }

[ -e "$out/python/redis" ] || python3 -m pip install -q --target "$out/python" \
    redis==$redis_py >"$out/pip.log" 2>&1 ||
    skip redis-py "it cannot be fetched: $out/pip.log"

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    skip node-redlock "needs node and npm"
elif [ ! -e "$out/node/node_modules/redlock" ]; then
    npm install -s --prefix "$out/node" redlock@$redlock ioredis@$ioredis \
        >"$out/npm.log" 2>&1 || skip node-redlock "it cannot be fetched: $out/npm.log"
fi

build_redsync() {
    mkdir -p "$out/go"
    cp "$here/redsync.go" "$out/go/main.go"
    cd "$out/go"
    [ -e go.mod ] || go mod init torture
    [ -e go.sum ] || go get github.com/go-redsync/redsync/v4@$redsync \
        github.com/redis/go-redis/v9@$go_redis
    go build -o ../redsync
}

if ! command -v go >/dev/null; then
    skip redsync "needs go"
else
    (build_redsync) >"$out/go.log" 2>&1 ||
        skip redsync "it cannot be fetched or built: $out/go.log"
fi

build_redisson() {
    [ -e "$out/redisson/redisson-$redisson.jar" ] ||
        mvn -q -B -f tests/redisson/pom.xml dependency:copy-dependencies \
            -Dredisson.version=$redisson -DoutputDirectory="$out/redisson"
    javac -d "$out/redisson" -cp "$out/redisson/*" "$here/Torture.java"
}

if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then
    skip Redisson "needs java and mvn"
else
    (build_redisson) >"$out/mvn.log" 2>&1 ||
        skip Redisson "it cannot be fetched or built: $out/mvn.log"
fi

exec python3 "$here/torture.py" "$build" "$@"
