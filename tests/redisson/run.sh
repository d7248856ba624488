#!/bin/sh
# run.sh BUILD: the same locks as a real Redisson, the newest and the oldest whose
# locks are those of the contract; REDISSON="VERSION..." says others. Needs a JDK
# and Maven; says "skipped" without them, or where packages cannot be fetched.
set -eu

here=tests/redisson
if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then
    echo "skipped: redisson (needs java and mvn)"
    exit 0
fi

# fetch VERSION FOLDER
fetch() {
    [ -e "$2/redisson-$1.jar" ] ||
        mvn -q -B -f $here/pom.xml dependency:copy-dependencies \
            -Dredisson.version="$1" -DoutputDirectory="$PWD/$2" >"$2.log" 2>&1
}

for version in ${REDISSON:-4.7.0 3.14.1}; do
    lib=$1/redisson/$version
    mkdir -p "$1/redisson"
    if ! fetch "$version" "$lib"; then
        echo "skipped: Redisson $version (it cannot be fetched: $lib.log)"
        continue
    fi
    javac -d "$lib" -cp "$lib/*" $here/Driver.java
    kinds=$(java -cp "$lib:$lib/*" Driver kinds)
    echo "Redisson $version: $kinds"
    HF_REDISSON=$lib HF_REDISSON_KINDS=$kinds "$1/tests/redisson/test_redisson"
done
