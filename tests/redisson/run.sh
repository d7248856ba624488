#!/bin/sh
# run.sh BUILD: the same locks as a real Redisson. Needs a JDK and Maven; says
# "skipped" without them, or where their packages cannot be fetched.
set -eu

here=tests/redisson
lib=$1/redisson
if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then
    echo "skipped: redisson (needs java and mvn)"
    exit 0
fi
if [ ! -d "$lib" ] &&
    ! mvn -q -B -f $here/pom.xml dependency:copy-dependencies \
        -DoutputDirectory="$PWD/$lib.new" >"$lib.log" 2>&1; then
    echo "skipped: redisson (its packages cannot be fetched: $lib.log)"
    exit 0
fi
[ -d "$lib" ] || mv "$lib.new" "$lib"
javac -d "$lib" -cp "$lib/*" $here/Peer.java
HF_REDISSON=$lib "$1/tests/redisson/test_redisson"
