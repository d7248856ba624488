#!/bin/sh
# build.sh: every harness with its dictionary and its seeds into $OUT, made with
# $CC, $CXX, $CFLAGS and $LIB_FUZZING_ENGINE, as OSS-Fuzz calls it.
# build.sh guided|fast|afl: the same with choices of our own, into
# build-fuzz/guided and so on, all with AddressSanitizer and
# UndefinedBehaviorSanitizer.
#   guided  libFuzzer sees what is compared; findings come with words
#   fast    libFuzzer at -O2, which sees branches alone; undefined behaviour
#           traps. Three times as many executions
#   afl     AFL++
set -eu
cd "$(dirname "$0")/.."

kind=${1-}
both='-g -fno-omit-frame-pointer -fsanitize=address,undefined'
branches=-fsanitize-coverage=inline-8bit-counters,pc-table
case $kind in
guided)
    CC=clang
    CFLAGS="-O1 $both -fno-sanitize-recover=all -fsanitize=fuzzer-no-link" ;;
fast) CC=clang CFLAGS="-O2 $both -fsanitize-trap=undefined $branches" ;;
afl) CC=afl-clang-fast CFLAGS="-O1 $both -fno-sanitize-recover=all" ;;
esac
if [ -n "$kind" ]; then
    CXX=$CC++ LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=build-fuzz/$kind
fi

objects=${WORK:-build-fuzz}/objects${kind:+-$kind}
mkdir -p "$OUT"
export AFL_QUIET=1
make --no-print-directory -j"${JOBS:-1}" BUILD="$objects" CC="$CC" \
    FUZZ_LD="$CXX" CFLAGS="$CFLAGS" FUZZ_MAIN="$LIB_FUZZING_ENGINE" fuzz-built
for harness in "$objects"/fuzz/fuzz_*; do
    case $harness in *.[od]) continue ;; esac
    name=${harness##*/}
    dictionary=fuzz/${name#fuzz_}.dict
    [ -f "$dictionary" ] || dictionary=fuzz/resp.dict
    cp "$harness" "$OUT/$name"
    cp "$dictionary" "$OUT/$name.dict"
    rm -f "$OUT/${name}_seed_corpus.zip"
    zip -qjr "$OUT/${name}_seed_corpus.zip" "fuzz/corpus/${name#fuzz_}"
done
