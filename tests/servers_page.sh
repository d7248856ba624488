#!/bin/sh
# servers_page.sh: fails if a table of docs/servers.md has a row without a test, or names a
# program or a test that does not exist. A row is "| situation | result | tests |". In its
# tests, text between backquotes is a target of make ("make NAME"), a file, a program
# (test_NAME) or a test. A test must be in the programs that are named before it in the row; if
# there are none, in the files that the text of its section names, or of the first section.
set -eu

files=$(mktemp)
trap 'rm -f "$files"' EXIT
find tests -name '*.c' >"$files"

xargs awk '/^START_TEST\(/ {
    program = FILENAME
    gsub(/.*\/|\.c$/, "", program)
    gsub(/^START_TEST\(|\).*/, "")
    print program, $0
}' <"$files" |
    awk '
    function complain(what) {
        print "servers: " what >"/dev/stderr"
        bad = 1
    }
    function program_of(name) {
        gsub(/.*\/|\.c$/, "", name)
        return name
    }
    # In `programs`, which end in a space.
    function is_test(name, programs,    i, n, list) {
        n = split(programs, list, " ")
        for (i = 1; i <= n; i++)
            if ((list[i], name) in test)
                return 1
        return 0
    }
    function look(row, name) {
        names++
        if (name ~ /^make /)
            return
        if (name in file || name in program) {
            named = (was_program ? named : "") program_of(name) " "
            was_program = 1
            return
        }
        was_program = 0
        if (!is_test(name, named))
            complain(row ": no such test in " named ": " name)
    }
    FILENAME == "-" { test[$1, $2] = 1; next }
    FILENAME != "docs/servers.md" {
        file[$0] = 1
        program[program_of($0)] = 1
        next
    }
    /^##/ { section = "" }
    /^\| situation \|/ { is_table = 1; next }
    !/^\|/ { is_table = 0 }
    !is_table {
        n = split($0, part, "`")
        for (i = 2; i <= n; i += 2)
            if (part[i] in file)
                section = section program_of(part[i]) " "
        first = first ? first : section
    }
    is_table && !/^\| ---/ {
        n = split($0, cell, /[ ]\|[ ]?/)
        row = cell[1]
        tests = cell[n - 1]
        rows++
        named = section ? section : first
        was_program = 0
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
