#!/bin/sh
# servers_page.sh: fails if a table of docs/servers.md has a row without a test, or names a
# program or a test that does not exist. A row is "| situation | result | tests |". In its
# tests, text between backquotes is a target of make ("make NAME"), a file, a program
# (test_NAME) or a test.
set -eu

files=$(mktemp)
trap 'rm -f "$files"' EXIT
find tests -name '*.c' >"$files"

xargs sed -n 's|^START_TEST(\([a-z0-9_]*\).*|\1|p' <"$files" |
    awk '
    function complain(what) {
        print "servers: " what >"/dev/stderr"
        bad = 1
    }
    function look(row, name) {
        if (name ~ /^make /) {
            names++
        } else if (name in test) {
            names++
        } else if (name in file || name in program) {
            names++
        } else {
            complain(row ": no such test: " name)
        }
    }
    FILENAME == "-" { test[$0] = 1; next }
    FILENAME != "docs/servers.md" {
        file[$0] = 1
        sub(/.*\//, "")
        sub(/\.c$/, "")
        program[$0] = 1
        next
    }
    /^\| situation \|/ { is_table = 1; next }
    !/^\|/ { is_table = 0 }
    is_table && !/^\| ---/ {
        n = split($0, cell, /[ ]\|[ ]?/)
        row = cell[1]
        tests = cell[n - 1]
        rows++
        if (n != 4)
            complain(row ": not three cells")
        if (tests !~ /`/ && tests !~ /^the same/)
            complain(row ": no test")
        n = split(tests, part, "`")
        for (i = 2; i <= n; i += 2)
            look(row, part[i])
    }
    END {
        if (!bad)
            printf "servers: %d situations, %d names of tests\n", rows, names
        exit bad
    }' - "$files" docs/servers.md
