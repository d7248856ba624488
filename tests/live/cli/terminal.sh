#!/bin/bash
# terminal.sh HOLDFAST: the command on a real terminal (tmux's), typed at by hand:
# Ctrl-C, Ctrl-Z and Ctrl-S. An interactive shell with its job control adds to what
# test_run_signals shows on a bare pseudo terminal.
set -euo pipefail

holdfast=$(realpath "$1")
dir=$(mktemp -d)
export HOLDFAST_URL=unix://$dir/redis
tmux=(tmux -S "$dir/tmux" -f /dev/null)

redis-server --port 0 --unixsocket "$dir/redis" --dir "$dir" --save '' \
    >"$dir/redis.log" &
server=$!

stop() {
    "${tmux[@]}" kill-server 2>/dev/null || true
    kill "$server"
    wait "$server" || true
    rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

redis() { redis-cli -s "$dir/redis" "$@"; }

fail() {
    echo "terminal.sh: $1; the terminal shows:" >&2
    "${tmux[@]}" capture-pane -p -t t | grep -v '^$' >&2 || true
    exit 1
}

# await FILE TEXT: until a line of the file, which grows, contains the text.
await() {
    local text is_there=yes

    exec {text}< <(exec timeout 30 tail -n +1 -F "$1" 2>/dev/null)
    grep -q -m1 -e "$2" <&"$text" || is_there=no
    kill "$!" 2>/dev/null || true
    exec {text}<&-
    [ $is_there = yes ] || fail "'$2' never came"
}

await "$dir/redis.log" 'accept connections'

# A new terminal with an interactive shell. All that is drawn on it stands in
# $dir/screen.
open_terminal() {
    : >"$dir/screen"
    "${tmux[@]}" new-session -d -s t -x 200 -y 50 'exec cat'
    "${tmux[@]}" pipe-pane -t t "exec cat >>'$dir/screen'"
    "${tmux[@]}" respawn-pane -k -t t "exec env PS1='\$ ' bash --norc --noprofile -i"
}

close_terminal() { "${tmux[@]}" kill-session -t t; }
type_line() { "${tmux[@]}" send-keys -t t "$1" Enter; }
press() { "${tmux[@]}" send-keys -t t "$1"; }

# The whole terminal is closed behind a test, so each begins alike.
run_test() {
    redis flushall >/dev/null
    open_terminal
    "$1"
    close_terminal
    echo "ok: $1"
}

# ---- the tests ----

ctrl_c_ends_a_script_with_a_loop_around_run() {
    type_line "for i in 1 2 3; do $holdfast run demo -- sh -c 'echo up-\$((40+2)); exec sleep 600'; done; echo rounds-\$((40+2))"
    await "$dir/screen" up-42
    press C-c
    type_line 'echo "prompt-$((40+2))"'
    await "$dir/screen" prompt-42
    ! grep -q rounds-42 "$dir/screen" || fail "the loop went on"
    [ "$(redis exists demo)" = 0 ] || fail "the lock was kept"
}

ctrl_c_ends_a_script_with_a_loop_around_a_wait() {
    redis hset demo 00000000-0000-0000-0000-000000000000:1 1 >/dev/null
    type_line "for i in 1 2 3; do $holdfast run -v demo -- true; done; echo rounds-\$((40+2))"
    await "$dir/screen" waiting
    press C-c
    type_line 'echo "prompt-$((40+2))"'
    await "$dir/screen" prompt-42
    ! grep -q rounds-42 "$dir/screen" || fail "the loop went on"
}

ctrl_z_stops_it_and_fg_goes_on() {
    type_line "$holdfast run demo -- sh -c 'echo up-\$((40+2)); read go; echo got-\$go'"
    await "$dir/screen" up-42
    press C-z
    await "$dir/screen" Stopped
    [ "$(redis exists demo)" = 1 ] || fail "the lock was let go"
    : >"$dir/screen"
    type_line fg
    await "$dir/screen" 'run demo' # bash has left its own mode of the terminal
    type_line 42
    await "$dir/screen" got-42
    type_line 'echo "ended-$?"'
    await "$dir/screen" ended-0
    [ "$(redis exists demo)" = 0 ] || fail "the lock was kept"
}

# Nothing can be written to a terminal that is stopped. The command holds a FIFO
# open, whose end is read when the last of its processes is gone.
ctrl_s_does_not_keep_a_command_that_lost_its_lock() {
    mkfifo "$dir/alive"
    type_line "$holdfast run -v --lease 3s -k 1s demo -- sh -c 'trap \"\" TERM; echo up-\$((40+2)); while :; do sleep 600 & wait \$!; done' 3>'$dir/alive'"
    exec 4<"$dir/alive"
    await "$dir/screen" up-42
    press C-s
    redis del demo >/dev/null
    timeout 30 cat <&4 || fail "the command that lost its lock is at work"
    exec 4<&-
    press C-q
    type_line 'echo "ended-$?"'
    await "$dir/screen" ended-122
}

run_test ctrl_c_ends_a_script_with_a_loop_around_run
run_test ctrl_c_ends_a_script_with_a_loop_around_a_wait
run_test ctrl_z_stops_it_and_fg_goes_on
run_test ctrl_s_does_not_keep_a_command_that_lost_its_lock
