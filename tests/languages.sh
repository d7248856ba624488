#!/bin/sh
# languages.sh BUILD go|rust MAKE: the example in that language is compiled with an installed
# holdfast, takes a lock of a real server, releases it, and is told of a loss.
set -eu

build=$(pwd)/$1 language=$2 make=$3
prefix=$build/languages/prefix
out=$build/languages/$language
. tests/embed/server.sh

case $language in
go) tools='go gcc' ;;
rust) tools='cargo rustc' ;;
esac
for tool in $tools pkg-config redis-server redis-cli; do
    command -v "$tool" >/dev/null || { echo "skipped: $language: needs $tool"; exit 0; }
done

mkdir -p "$out"
$make -s install PREFIX="$prefix" >"$out/install" 2>&1 || { cat "$out/install" >&2; exit 1; }
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
export GOFLAGS=-mod=mod GOTOOLCHAIN=local CARGO_TARGET_DIR="$out/target" CARGO_NET_OFFLINE=true
case $language in
go)
    (cd examples/go && go vet . && go build -o "$out/program" .) ||
        fail 'go vet and go build accept examples/go' ;;
rust)
    (cd examples/rust && cargo test --quiet && cargo build --quiet) >"$out/log" 2>&1 ||
        { cat "$out/log" >&2; fail 'cargo builds examples/rust, and its test passes'; }
    cp "$out/target/debug/holdfast-example" "$out/program" ;;
esac

start_server
url="unix://$folder/sock?tracking=on"
redis() { redis-cli -s "$folder/sock" "$@"; }

# begin NAME: runs the program in the background, until it prints NAME. `wait $program` has its
# status. Its input is $folder/input.
mkfifo "$folder/input" "$folder/output"
begin() {
    # shellcheck disable=SC2094 # a pipe
    timeout 60 "$out/program" "$url" report <"$folder/input" >"$folder/output" 2>"$folder/errors" &
    program=$!
    exec 3>"$folder/input" 4<"$folder/output"
    await "$1"
}
await() {
    while read -r line <&4; do
        [ "$line" != "$1" ] || return 0
    done
    cat "$folder/errors" >&2
    fail "the program prints '$1'"
}
# over STATUS: the program ends with this status.
over() {
    status=0
    wait "$program" || status=$?
    exec 3>&- 4<&-
    [ "$status" = "$1" ] || { cat "$folder/errors" >&2; fail "its status is $1, not $status"; }
}
stop() {
    case $language in
    go) kill -INT "$program" ;;
    rust) exec 3>&- ;;
    esac
}

if [ "$language" = go ]; then
    (cd examples/go && HOLDFAST_TEST_URL=$url go test . >"$out/log" 2>&1) ||
        { cat "$out/log" >&2; fail 'the tests of examples/go pass'; }
fi

begin held
[ "$(redis exists report)" = 1 ] || fail 'the lock is held on the server'
stop
await released
over 0
[ "$(redis exists report)" = 0 ] || fail 'the lock was released on the server'

begin held
redis del report >/dev/null
over 1
grep -q '^lost: the lock no longer exists on the server' "$folder/errors" ||
    { cat "$folder/errors" >&2; fail 'it is told of the loss'; }

if [ "$language" = go ]; then
    redis hset report 00000000-0000-0000-0000-000000000001:1 1 >/dev/null
    begin waiting
    until [ "$(redis pubsub numsub 'redisson_lock__channel:{report}' | tail -1)" = 1 ]; do
        kill -0 "$program" || { cat "$folder/errors" >&2; fail 'the program waits'; }
    done
    stop
    over 130
fi
echo "$language: the example takes its lock, releases it, and is told of a loss"
