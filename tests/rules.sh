#!/bin/sh
# rules.sh [-v] [TREE]: each numbered rule of the source is named by a test.
#
# A rule is a line "NAME-N  text" of a comment, in which two spaces or more follow a number
# of one digit. A test names it by "NAME-N" anywhere in its file, beside the test that
# fails if the code breaks the rule, or by the name of its function: name_1_...
# "NAME-1 to NAME-9" names none of them: it would go on naming a rule whose test is gone.
# -v prints where each is named.
set -eu
verbose=0
[ "${1-}" != -v ] || { verbose=1; shift; }
cd "${1:-.}"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

files() { # DIRECTORY... - EXTENSION: those that exist
    for folder in $1; do
        [ ! -d "$folder" ] || find "$folder" -name "$2"
    done
}

# "RULE FILE:LINE"
{ files 'resp net lock cli tools' '*.[ch]'; files lock '*.lua'; } | sort >"$dir/source"
xargs grep -nHE '^( \*|/\*|--)? *[A-Z]{2,}-([0-9]  +|[0-9]{2} +)[A-Za-z`]' <"$dir/source" |
    sed -E 's/^([^:]*:[0-9]+):[^A-Z]*([A-Z]+-[0-9]+) .*/\2 \1/' |
    sort -k1,1 -u >"$dir/rules"

{ files 'tests/live tests/exhaust tests/redisson tests/support/self' '*.c'
  files 'tests/sim' 'seeds.h'
  files 'tests tests/sim' 'test_*.c'; } | sort -u >"$dir/tests"
xargs perl -0777 -ne '
    s{[A-Z]{2,}-\d+[\s*]+to[\s*]+[A-Z]*-?\d+}{my $t = $&; $t =~ tr/\n//cd; $t}ge;
    s{^START_TEST\(([a-z]{2,})_?(\d+)_}{uc($1) . "-$2 "}gem;
    while (/\b([A-Z]{2,}-\d+)\b/g) {
        print "$1 $ARGV:" . (1 + (substr($_, 0, $-[1]) =~ tr/\n//)) . "\n";
    }' <"$dir/tests" | sort -u >"$dir/named"

cut -d' ' -f1 "$dir/rules" | sort -u >"$dir/all"
cut -d' ' -f1 "$dir/named" | sort -u >"$dir/tested"

bad=0
complain() { # TEXT FILE: a line for each name in FILE
    while read -r name; do
        echo "rules: $name $1" >&2
        bad=1
    done <"$2"
}
comm -23 "$dir/all" "$dir/tested" >"$dir/new"
complain "is named by no test: name it at the test that fails if the code breaks it" "$dir/new"

# A test that names a rule which is not there, of a list which is.
sed 's/-.*//' "$dir/all" | sort -u >"$dir/lists"
comm -13 "$dir/all" "$dir/tested" | while read -r name; do
    ! grep -qx "${name%-*}" "$dir/lists" || echo "$name"
done >"$dir/dangling"
complain "is named by a test, and is not a rule" "$dir/dangling"

[ $verbose = 0 ] || join -a1 "$dir/rules" "$dir/named" |
    awk '$1 != last { printf "%s%s", sep, $1; sep = "\n"; last = $1 }
         $3 { printf " %s", $3 }
         END { print "" }' | sort -V
[ $bad = 0 ] || exit 1
echo "rules: $(wc -l <"$dir/all") numbered rules, $(comm -12 "$dir/all" "$dir/tested" |
    wc -l) named by tests"
