#!/bin/sh
# shape.sh        fails on files and functions that are too long, on a function of an
#                 installed header of which no comment speaks, and on a line that is laid
#                 out in another way than the rest (docs/contributing.md)
# shape.sh -v     and prints each folder's functions: how many, and how long
#
# tests/shape.txt has the exceptions, and at most how long each is; one that is
# not needed any more fails as well.
set -eu

installed=$(sed -n 's/^HEADERS := //p' mk/lists.mk)
# shellcheck disable=SC2046 # names without spaces
awk -v installed="$installed" -f tests/shape.awk holdfast.h \
    $(find resp net lock cli tools tests bench fuzz examples -name '*.[ch]') |
    sort -k1,1 -k2,2 -k3n | awk -v verbose="${1-}" '
function complain(text)
{
    print "shape: " text >"/dev/stderr"
    bad = 1
}

# is_excepted: may `name` have so many, where others have `limit`?
function is_excepted(name, n)
{
    if (!(name in most))
        return 0
    is_used[name] = 1
    if (n > most[name])
        complain(name ": " n ", but tests/shape.txt says " most[name])
    return 1
}

function limit_of(file)
{
    if (file == "net/net.h")
        return 350
    if (file ~ /^(tests|bench|fuzz|examples)\//)
        return 0
    return file ~ /\.h$/ ? 400 : 600
}

function end_folder(    half, tenth)
{
    if (n == 0)
        return
    half = size[int((n + 1) / 2)]
    tenth = size[int((n * 9 + 9) / 10)]
    if (verbose == "-v")
        printf "%-9s %5d functions, half of them up to %d lines, nine of ten " \
            "up to %d, the longest %d\n", folder, n, half, tenth, size[n]
    if (half > 12 && folder != "fuzz")      # a harness is one function
        complain(folder "/: half of the functions have over " half - 1 " lines")
    if (tenth > 25)
        complain(folder "/: one of ten functions has over " tenth - 1 " lines")
    n = 0
}

FILENAME != "-" {
    if (/^[^#]/)
        most[$1] = $2
    next
}
$1 == "function" {
    if ($2 != folder)
        end_folder()
    folder = $2
    size[++n] = $3
    if ($3 > 70 && !is_excepted($5, $3))
        complain($4 ": " $5 " has " $3 " lines")
}
$1 == "lines" && limit_of($2) && $3 > limit_of($2) && !is_excepted($2, $3) {
    complain($2 " has " $3 " lines, not at most " limit_of($2))
}
$1 == "layout" {
    place = $2
    $1 = $2 = ""
    complain(place ":" substr($0, 2))
}
$1 == "undocumented" && !is_excepted($3, 0) {
    complain($2 ": no comment says what " $3 " does")
}
END {
    end_folder()
    for (name in most)
        if (!(name in is_used))
            complain("tests/shape.txt: " name " is no exception any more: remove it")
    exit bad
}' tests/shape.txt -
