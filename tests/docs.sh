#!/bin/sh
# docs.sh: every source file that docs/architecture.md and README.md name exists. A
# name without its folder may be anywhere; one with a "*" must fit a file.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
find . -path './build*' -prune -o -type f -print >"$dir/files"

# names FILE: the files that it names; not in code, which is indented or in C.
names() {
    awk '/^```/ { fence = $0 == "```c" ? "c" : fence ? "" : "picture" }
         fence == "picture" || !fence && !/^    /' "$1" |
        grep -oE '[A-Za-z0-9_*./-]+\.(c|h|lua|sh|mk|md)\b' | grep -v '^\./' | sort -u
}

# missing FILE: the names of files that there are not.
missing() {
    names "$1" | while read -r name; do
        pattern="/$(echo "$name" | sed 's/\./\\./g; s/\*/[^\/]*/g')\$"
        grep -q "$pattern" "$dir/files" || echo "$name"
    done
}

for page in docs/architecture.md README.md; do
    gone=$(missing $page)
    [ -z "$gone" ] || { echo "$page names files that there are not:" $gone >&2
                        exit 1; }
done

# Does it notice any?
echo "\`tests/docs.sh\`, no_such_file.c, net/no_*.h, \`esolve.c\`" >"$dir/page"
[ "$(missing "$dir/page" | tr '\n' ' ')" = 'esolve.c net/no_*.h no_such_file.c ' ] || {
    echo "docs.sh does not notice what is missing" >&2; exit 1; }
