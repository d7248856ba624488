#!/bin/sh
# exports.sh LIBRARY.so ARCHIVE...: the shared library exports what
# tests/exports.txt lists, and no archive defines a name without our prefix.
set -eu

shared=$1
shift
nm -D --defined-only "$shared" | awk '{print $3}' | grep -v '^_' | sort |
    diff tests/exports.txt - || {
    echo "the export list differs from tests/exports.txt" >&2
    exit 1
}
alien=$(nm -g --defined-only "$@" 2>/dev/null |
    awk 'NF == 3 && $3 !~ /^hf_/ && $3 !~ /^__(asan|odr|tsan|ubsan|start|stop)/ {print $3}')
[ -z "$alien" ] || { echo "names without hf_: $alien" >&2; exit 1; }
