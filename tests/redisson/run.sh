#!/bin/sh
# run.sh BUILD [PROGRAM]: the same locks as a real Redisson, the newest and the oldest
# whose locks are those of the contract; REDISSON="VERSION..." says others. Needs a
# JDK and Maven; says "skipped" without them, or where packages cannot be fetched.
# PROGRAM: test_redisson; or soak, which needs the newest.
set -eu

here=tests/redisson
program=${2:-test_redisson}
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
    [ "$program" != soak ] || javac -d "$lib" -cp "$lib/*" $here/Soak.java
    kinds=$(java -cp "$lib:$lib/*" Driver kinds)
    echo "Redisson $version: $kinds"
    HF_REDISSON=$lib HF_REDISSON_KINDS=$kinds "$1/tests/redisson/$program"
done
