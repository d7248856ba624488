#!/bin/sh
# exports.sh LINK LIBRARY.so ARCHIVE...: the shared library exports what
# tests/exports.txt lists, which is what the installed headers declare; each
# function of these links against it (LINK: the compiler and its flags). No
# archive defines a name without our prefix.
set -eu

link=$1
shared=$2
shift 2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

nm -D --defined-only "$shared" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    grep -v '^_' | sort |
    diff tests/exports.txt - || {
    echo "the export list differs from tests/exports.txt" >&2
    exit 1
}

# Each has a version of the interface whose number is in the name of the library: docs/abi.md.
number=$(sed -n 's/^SOVERSION := //p' Makefile)
unversioned=$(nm -D --defined-only "$shared" | grep ' hf_' |
    grep -vE "@@HOLDFAST_$number(\.[0-9]+)?\$") || :
[ -z "$unversioned" ] || {
    echo "exported without the version HOLDFAST_$number: $unversioned" >&2
    exit 1
}

# A program that takes the address of each function.
headers=$(sed -n 's/^HEADERS := //p' mk/lists.mk)
# shellcheck disable=SC2086 # words
printf '#include "%s"\n' $headers >"$out/all.c"
# shellcheck disable=SC2086 # words
cat $headers | awk '{ all = all $0 "\n" }
    END { gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", all); print all }' |
    grep -v '^typedef' | grep -oE '\bhf_[a-z0-9_]+\(' | tr -d '(' |
    sort -u >"$out/names"
{
    echo 'typedef void any(void);'
    echo 'any *const all[] = {'
    sed 's/.*/    (any *)&,/' "$out/names"
    echo '};'
    echo 'int main(void) { return !all[0]; }'
} >>"$out/all.c"
# shellcheck disable=SC2086 # words
$link -I. "$out/all.c" "$shared" -o "$out/all" || {
    echo "an installed header declares what the library does not export" >&2
    exit 1
}
! nm -D --defined-only "$shared" | awk '$2 == "T" && /hf_/ { sub(/@.*/, "", $3); print $3 }' | sort |
    comm -13 "$out/names" - | grep . || {
    echo "no installed header declares these, which are exported" >&2
    exit 1
}

alien=$(nm -g --defined-only "$@" 2>/dev/null |
    awk 'NF == 3 && $3 !~ /^hf_/ && $3 !~ /^__(asan|odr|tsan|ubsan|start|stop)/ {print $3}')
[ -z "$alien" ] || { echo "names without hf_: $alien" >&2; exit 1; }
