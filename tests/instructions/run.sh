#!/bin/sh
# run.sh BUILD [--update]: what a byte costs in instructions, as callgrind counts
# them. 0 if twice the bytes cost at most 2.1 times as much, and none costs more
# than expected.txt says: within 10 % with the compiler that it names, which counts
# the same at each run, within 25 % with any other (gcc 11 is at most 4 % above gcc
# 12, clang 14 and 16 are 16 % above). --update writes that file anew.
set -eu

here=tests/instructions
out=$1/instructions
update=${2:-}
cc=${CC:-gcc}

# What is counted. None calls another of them: to enter one begins the count, to
# leave it ends it.
counted='hf_resp_parse hf_resp_drop hf_resp_double hf_resp_copy_bytes
    hf_resp_map_get hf_resp_attribute hf_resp_element hf_resp_copy'

tests/deps.sh deps-valgrind
rm -rf "$out"
mkdir -p "$out"

# Not the user's flags: the counts would be others.
$cc -std=c11 -O2 -D_GNU_SOURCE -I. $here/instructions.c resp/*.c \
    -o "$out/instructions"

# libc has a memchr and a memcpy for each kind of processor. So that all x86-64
# count the same, the oldest are used: the others have names in GLIBC_TUNABLES, one
# for older versions of glibc and one for newer.
GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-ERMS \
    valgrind --quiet --tool=callgrind --callgrind-out-file="$out/count" \
    --collect-atstart=no $(printf ' --toggle-collect=%s' $counted) \
    --dump-after=stream_ends "$out/instructions" >"$out/streams"

status=0
awk -F '\t' -v counts="$out/count" -v machine="$(uname -m)" \
    -v compiler="$($cc --version | head -1)" -v expected=$here/expected.txt \
    -v update="$update" -f $here/report.awk "$out/streams" >"$out/table" ||
    status=$?
cat "$out/table"
[ -z "$update" ] || grep -v '^!' "$out/table" >$here/expected.txt
exit $status
