#!/bin/sh
# script_texts_fails.sh: tests/script_texts.sh finds each way in which a script can
# return a text that is not cut, and accepts what the scripts do.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "script_texts_fails: $*" >&2; exit 1; }

script() {
    printf '%s\n' "local lock, owner = KEYS[1], ARGV[1]" "$@" >"$dir/x.lua"
}

fails() {
    script "$@"
    ! tests/script_texts.sh "$dir/x.lua" 2>"$dir/says" || fail "accepted: $*"
    grep -q 'not cut' "$dir/says" || fail "no message about: $*"
}

passes() {
    script "$@"
    tests/script_texts.sh "$dir/x.lua" || fail "refused: $*"
}

fails "return redis.call('get', lock)"
fails "return {owner, redis.call('hget', lock, 'mode') or ''}"
fails "local head = redis.call('lindex', lock, 0)" "return {owner, head, #head}"
fails "local a, b = unpack(redis.call('hmget', lock, 'x', 'y'))" "return {owner, b}"
fails "local all = redis.call('hscan', lock, 0)[2]" "return {owner, all[1]:sub(1, 191), all[2]}"
fails "local t = redis.call('get', lock)" "if t then" "t = t:sub(1, 191)" "end" "return {t}"
fails "local t = redis.call('get', lock)" "return {t:sub(1, 192)}"
fails "local t = redis.call('get', lock)" "return {t and 1 or owner, 1 and t}"
fails "local t = redis.call('get', lock)" "return {'x' .. t}"
fails "local reply = {owner, 1}" "reply[3] = redis.call('get', lock)" "return reply"
fails "local t = redis.pcall('get', lock)" "if t then" "return t" "end" "return {1}"
fails "local function f()" "return redis.call('type', lock).ok" "end" "return {f()}"
fails "return redis.call('zrange', lock, 0, -1)"
fails "local function f()" "return 1, redis.call('get', lock)" "end" \
    "local n, t = f()" "return {n, t}"

passes "local t = redis.call('get', lock) or ''" "return {owner, t:sub(1, 191), #t}"
passes "local t = redis.call('get', lock)" "return {owner, (t or ''):sub(1, 191)}"
passes "local t = redis.pcall('get', lock)" \
    "if type(t) == 'table' and not t.err:find('X') then" "return t" "end" "return {1}"
passes "local function f()" "if lock then" "return redis.call('get', lock)" "end" \
    "return nil" "end" "return {f() and 1 or 0, (f() or ''):sub(1, 191)}"
passes "local n = redis.call('pttl', lock)" "return {owner, math.max(n, 0), n + 1, -n}"
passes "local t = redis.call('get', lock)" "return {t == owner and 1 or 0, tonumber(t)}"
