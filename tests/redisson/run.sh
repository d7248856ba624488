#!/bin/sh
# run.sh BUILD [PROGRAM]: the same locks as a real Redisson, the newest and the oldest
# whose locks are those of the contract; REDISSON="VERSION..." says others. Needs a
# JDK and Maven; says "skipped" without them, or where packages cannot be fetched.
# PROGRAM: test_redisson; or soak, which needs the newest.
set -eu

here=tests/redisson
# Short runs: without the optimizing compiler, a JVM takes half the CPU time.
short='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
build=$1
base=$1/redisson
program=${2:-test_redisson}
if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then
    echo "skipped: redisson (needs java and mvn)"
    exit 0
fi

# fetch VERSION FOLDER
fetch() {
    [ -e "$2/redisson-$1.jar" ] ||
        MAVEN_OPTS="$short ${MAVEN_OPTS:-}" mvn -q -B -f $here/pom.xml dependency:copy-dependencies \
            -Dredisson.version="$1" -DoutputDirectory="$PWD/$2" >"$2.log" 2>&1
}

# compile CLASS: in the folder $lib. javac passes options after -J to its JVM.
compile() {
    # shellcheck disable=SC2046 # words
    javac $(printf ' -J%s' $short) -d "$lib" -cp "$lib/*" "$here/$1.java"
}

# prepare VERSION: whether it is there, with its driver compiled. One after the other,
# because all share Maven's repository.
prepare() {
    lib=$base/$1
    if ! fetch "$1" "$lib"; then
        echo "skipped: Redisson $1 (it cannot be fetched: $lib.log)"
        return 1
    fi
    compile Driver || exit 1
    [ "$program" != soak ] || compile Soak || exit 1
}

# beside VERSION: the program beside it, which replaces this shell. Each has a JVM and
# servers of its own, which end with it.
beside() {
    lib=$base/$1
    kinds=$(java $short -cp "$lib:$lib/*" Driver kinds)
    echo "Redisson $1: $kinds"
    HF_REDISSON=$lib HF_REDISSON_KINDS=$kinds exec "$build/tests/redisson/$program"
}

mkdir -p "$base"
versions=
for version in ${REDISSON:-4.7.0 3.14.1}; do
    ! prepare "$version" || versions="$versions $version"
done

# The versions run side by side, because their tests mostly wait. What each of them
# prints is kept together; one alone prints at once.
case $versions in
' '*' '*) ;;
' '*) beside $versions ;;
esac

# A job's number and its version, a pair each.
jobs=
stop() {
    for job in $jobs; do kill "${job%:*}" 2>/dev/null || true; done
    wait
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for version in $versions; do
    beside "$version" >"$base/$version.out" 2>&1 &
    jobs="$jobs $!:$version"
done
worst=0
for job in $jobs; do
    code=0
    wait "${job%:*}" || code=$?
    jobs=${jobs# $job}
    cat "$base/${job#*:}.out"
    [ "$code" -le "$worst" ] || worst=$code
done
exit "$worst"
