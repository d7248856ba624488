#!/bin/sh
# run.sh BUILD [MACHINE...]: every unit test of resp/ on other machines: 32 bits,
# big-endian, char unsigned, another libc. What is tested is the pair that
# resp/amalgamate.sh makes, as it is and with every undefined behaviour made a
# trap; on a machine that is emulated, which is slow, only the latter. A machine whose compiler or emulator is not to be had is skipped.
set -u

build=$1/cross
shift
[ $# -gt 0 ] || set -- i386 armhf s390x musl
tests=$(ls tests/test_resp_*.c)
# What some of them are linked with, of nothing but libc and resp/.
kit="$(ls tests/support/resp_*.c) tests/vectors/vectors.c tests/vectors/ways.c
    tests/vectors/holdfast.c tests/cross/suite.c"

have() { command -v "$1" >/dev/null; }

# Sets `cc`, and `emulator` to what runs its programs here, if anything must.
choose() {
    emulator=
    case $1 in
    i386) cc=i686-linux-gnu-gcc
        [ "$(uname -m)" = x86_64 ] || emulator=qemu-i386 ;;
    armhf) cc=arm-linux-gnueabihf-gcc emulator=qemu-arm ;;
    s390x) cc=s390x-linux-gnu-gcc emulator=qemu-s390x ;;
    musl) cc=musl-gcc ;;
    *) echo "$0: no such machine: $1" >&2; exit 2 ;;
    esac
}

ready() { have "$cc" && { [ -z "$emulator" ] || have "$emulator"; }; }

# What the compiler says of the machine, so that no name has to be believed.
describe() {
    echo | "$cc" -dM -E - | awk '
        $2 == "__SIZEOF_POINTER__" { bits = 8 * $3 }
        $2 == "__BYTE_ORDER__" { order = $3 ~ /BIG/ ? "big" : "little" }
        $2 == "__CHAR_UNSIGNED__" { sign = "unsigned" }
        END { printf "%d bits, %s-endian, char %s", bits, order,
              sign ? sign : "signed" }'
}

# What is compiled the same whatever becomes of the pair, once.
compile() {
    for source in tests/embed/embed.c $tests $kit; do
        "$cc" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -Itests/cross \
            -I"$build" -I. -c "$source" -o "$(object "$source")" || return 1
    done
}

object() { echo "$out/$(basename "$1" .c).o"; }

# FLAGS...: runs every test with the pair compiled so.
run_all() {
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
        "$@" -c "$build/hf_resp.c" -o "$out/pair.o" || return 1
    bad=0
    for source in tests/embed/embed.c $tests; do
        program=$out/$(basename "$source" .c)
        "$cc" -static "$program.o" $kit_O "$out/pair.o" -lm -o "$program" &&
            $emulator "$program" >"$program.out" 2>&1
        status=$?
        [ $status = 0 ] && continue
        bad=1
        echo "FAILED: $machine, $*: $source ($status)"
        cat "$program.out" 2>/dev/null
    done
    return $bad
}

# Bytes of the pair's text, as `size` counts it.
text() {
    "$cc" -std=c11 -O2 -c "$build/hf_resp.c" -o "$out/pair.o" &&
        "$("$cc" -print-prog-name=size)" "$out/pair.o" | awk 'NR == 2 {print $1}'
}

# The number of single tests that the last run_all ran.
count() { awk '/ tests, / {n += $(NF - 3)} END {print n + 0}' "$out"/*.out; }

# All of one machine.
try() {
    out=$build/$machine
    rm -rf "$out"
    mkdir -p "$out"
    kit_O=$(for source in $kit; do object "$source"; done)
    compile &&
        run_all -O2 -fsanitize=undefined -fsanitize-undefined-trap-on-error &&
        { [ -n "$emulator" ] || run_all -O2; } || return 1
    echo "cross: $machine ($(describe)): $(count) tests passed," \
        "$([ -n "$emulator" ] && echo once || echo twice); text $(text) bytes"
}

mkdir -p "$build"
resp/amalgamate.sh "$build" || exit 1
rm -f "$build"/*.said
tried=
trap 'kill $tried 2>/dev/null' EXIT
trap 'exit 130' INT TERM
for machine; do
    choose "$machine"
    ready || tests/deps.sh "deps-$machine" >"$build/$machine.deps" 2>&1
    if ! ready; then
        echo "skipped: $machine (needs $cc${emulator:+ and $emulator};" \
            "$(tail -1 "$build/$machine.deps"))"
        continue
    fi
    try >"$build/$machine.said" 2>&1 &
    tried="$tried $!"
done
[ -n "$tried" ] || exit 77
failed=0
for pid in $tried; do
    wait "$pid" || failed=1
done
cat "$build"/*.said
exit $failed
