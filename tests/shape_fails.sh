#!/bin/sh
# shape_fails.sh: tests/shape.sh notices each thing that it is there for, in a tree
# of a few lines, and nothing else.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/mk" "$dir/tests"
cp tests/shape.sh tests/shape.awk "$dir/tests"
cd "$dir"

lines() { yes "${2-/* */}" | head -n "$1"; }
# code NAME N: one of N lines.
code() { printf 'int %s(void)\n{\n' "$1"; lines $(($2 - 3)) '    x();'; echo '}'; }

# A tree in which nothing is wrong.
begin() {
    rm -rf resp net lock cli tools bench fuzz examples tests/shape.txt tests/x.c
    mkdir resp net lock cli tools bench fuzz examples
    echo 'HEADERS := net/net.h' >mk/lists.mk
    : >holdfast.h
    code f 12 >resp/f.c
    cat >net/net.h <<'END'
/* hf_a - does a thing.
 * hf_b - another thing. */
HF_API int hf_a(void);
HF_API const char *
hf_b(int x,
     int y);
END
    echo '# exceptions' >tests/shape.txt
}

fail() { echo "shape_fails: $*" >&2; cat says >&2; exit 1; }

# A line of this text is found.
line() {
    printf 'int s(void)\n{\n    x();\n%s\n    x();\n}\n' "$2" >>cli/x.c
    fails "cli/x.c:4: .*$1"
}

fails() { # the words that say so
    ! tests/shape.sh >says 2>&1 || fail "no complaint of: $1"
    [ "$(grep -c . says)" = 1 ] || fail "one complaint was to be: $1"
    grep -q "$1" says || fail "no word of: $1"
    begin
}

passes() { tests/shape.sh >says 2>&1 || fail "a complaint where all is well"; }

begin
passes
code f 70 >lock/f.c; code g 12 >>lock/f.c; code h 3 >>lock/f.c
lines 60 "$(code s 3)" >>lock/f.c
passes
begin

code f 71 >bench/f.c; code g 3 >>bench/f.c
lines 60 "$(code s 3)" >>bench/f.c
fails 'f has 71 lines'
code f 13 >cli/f.c; fails 'cli/: half of the functions have over 12'
lines 18 "$(code s 3)" >lock/f.c
code f 26 >>lock/f.c; code g 26 >>lock/f.c
fails 'lock/: one of ten functions has over 25'
lines 601 >resp/long.c; fails 'resp/long.c has 601 lines'
lines 401 >lock/long.h; fails 'lock/long.h has 401 lines'
lines 345 >>net/net.h; fails 'net/net.h has 351 lines'
lines 600 >resp/long.c; lines 400 >lock/long.h; lines 344 >>net/net.h
lines 601 >tests/x.c; passes; begin

printf 'int hf_c(void);\n' >>net/net.h; fails 'net/net.h:7: no comment .* hf_c '
printf '\nint hf_c(void);\n' >>net/net.h; fails 'what hf_c does'
printf '\n/* */\nstatic inline int hf_c(void)\n' >>net/net.h
printf '{\n    return 0;\n}\n' >>net/net.h; fails 'what hf_c does'

echo 'resp/f.c 700' >>tests/shape.txt; fails 'resp/f.c is no exception any more'
echo 'hf_a 0' >>tests/shape.txt; fails 'hf_a is no exception any more'
lines 701 >resp/f.c; echo 'resp/f.c 700' >>tests/shape.txt; fails '701, but'
lines 700 >resp/f.c; echo 'resp/f.c 700' >>tests/shape.txt
printf 'int hf_c(void);\n' >>net/net.h; echo 'hf_c 0' >>tests/shape.txt; passes
begin

line 'more than 100' "    /* $(lines 1 "$(printf '%094d' 0)") */"
line 'white space' '    x(); '
line 'a tab' "    x(); /*$(printf '\t')*/"
line 'keyword' '    if(x)'
line 'keyword' '    while(x) {'
line 'multiple of 4' '   x();'
printf 'int s(void) {\n    x();\n}\n' >tests/x.c
fails 'brace of a function'
printf 'int  f(void){return 0;}\n' >tests/x.c
! tests/shape.sh >says 2>&1 || fail 'no complaint of a function on one line'
grep -q 'brace of a function' says && grep -q 'two blanks' says || fail 'one line, two blanks'
begin
printf 'int  s(void)\n{\n    x();\n}\n' >tests/x.c
fails 'two blanks'
printf 'inline int s(void) { return 0; }\n' >net/x.h
! tests/shape.sh >says 2>&1 || fail 'no complaint of a function on one line of a header'
begin
line 'after a brace' '    if (x) { x(); }'
line 'two statements' '    x(); y(z);'
printf 'int s(void)\n{\n    if (x)\n    {\n        x();\n    }\n}\n' >tests/x.c
fails 'brace is not on the line'
printf 'int s(void)\n{\n    if (x) {\n        x();\n    }\n    else\n        x();\n}\n' >tests/x.c
fails 'else'
cat >tests/x.c <<'END'
/* if(x) in a comment, which goes
   on */
int s(void)
{
    for (int i = 0; x(";  ");
         i = x(i))
        x('"', "for(;;)", sizeof(struct y){0});
 label:
    if (x) {
        x();
    } else {
        x();
    }
    switch (x) {
    case 1: x(); break;
    }
    y = (struct s){.a = x(1), {2}};
}
#define BOTH(x)                    \
    x;                             \
    if (x)                         \
        x
static const struct s  table = {f(1)};
int t(void)
{
}
int u(void)
{
}
END
passes
