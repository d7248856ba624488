# server.sh, sourced: start_server, a redis-server at $folder/sock that ends with the script,
# and fail WORDS..., which names the script.
server='' folder=$(mktemp -d)
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    wait 2>/dev/null || :
    rm -rf "$folder"
}
trap finish EXIT
fail() { echo "$(basename "$0" .sh): NOT SO: $*" >&2; exit 1; }

start_server() {
    redis-server --port 0 --unixsocket "$folder/sock" --save '' --appendonly no \
        --dir "$folder" >"$folder/log" &
    server=$!
    until grep -qi 'ready to accept' "$folder/log" 2>/dev/null; do
        kill -0 $server || { cat "$folder/log" >&2; exit 1; }
    done
}
