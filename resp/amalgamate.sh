#!/bin/sh
# amalgamate.sh OUTDIR: the whole floor as one pair of files, hf_resp.h and
# hf_resp.c, to be copied into another program. What a file includes of ours is
# put in its place, once; what it includes of the system moves to the top.
set -eu

[ $# = 1 ] || { echo "usage: $0 OUTDIR" >&2; exit 2; }
out=$1
root=$(dirname "$0")/..
version=$(awk '/^.define HF_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' \
    "$root/net/version.h")
[ -n "$version" ] || { echo "$0: no version in net/version.h" >&2; exit 1; }

mkdir -p "$out"
awk -v root="$root" -v out="$out" -v version="$version" '
function take(line) { text = text line "\n" }

# Reads a file into lines[1..]; without its include guard, if it has one.
function read(path, lines,    line, n, last, guard) {
    while ((getline line < (root "/" path)) > 0) {
        if (line ~ /^#ifndef HF_[A-Z_]+_H$/ && guard == "")
            guard = substr(line, 9)
        else if (guard == "" || line != "#define " guard)
            lines[++n] = line
        if (line == "#endif")
            last = n
    }
    close(root "/" path)
    if (n == 0) {
        print "amalgamate.sh: cannot read " path > "/dev/stderr"
        exit failed = 1
    }
    if (guard != "")
        lines[last] = ""
    return n
}

# An embedded copy is not exported by the library that embeds it: two copies in
# one process must not mix.
function take_api() {
    take("#ifndef HF_API")
    take("#define HF_API")
    take("#endif")
}

function copy(path,    lines, n, i) {
    if (path in copied)
        return
    copied[path] = 1
    n = read(path, lines)
    for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^#include </)
            include(lines[i])
        else if (lines[i] ~ /^#include "/)
            copy(substr(lines[i], 11, length(lines[i]) - 11))
        else if (lines[i + 1] ~ /^#define HF_API /) {
            take_api()
            while (lines[i] != "#endif")
                i++
        } else
            take(lines[i])
    }
}

function include(line) {
    if (!(line in included))
        includes = includes line "\n"
    included[line] = 1
}

function begin(file) {
    text = includes = ""
    head = "/* " file " " version ": the RESP2 and RESP3 parser and encoder " \
           "of holdfast.\n * Made by resp/amalgamate.sh from resp/: do not " \
           "edit.\n *\n * SPDX-License-Identifier: MIT (in full at the end of " \
           "hf_resp.c) */\n"
}

# Never two empty lines together, none at the end.
function write(path, all) {
    while (gsub(/\n\n\n+/, "\n\n", all))
        ;
    sub(/\n+$/, "\n", all)
    printf "%s", all > path
    close(path)
}

function take_licence(    lines, n, i) {
    n = read("LICENSE", lines)
    take("\n/* " lines[1])
    for (i = 2; i < n; i++)
        take(lines[i] == "" ? " *" : " * " lines[i])
    take(" * " lines[n] " */")
}

function make_header() {
    begin("hf_resp.h")
    copy("resp/base.h")
    copy("resp/resp.h")
    write(out "/hf_resp.h", head \
        "#ifndef HF_RESP_H\n#define HF_RESP_H\n\n" \
        "/* The one guard for all that follows; this one is for files that\n" \
        " * include resp/base.h of an installed holdfast behind it. */\n" \
        "#define HF_BASE_H\n\n#define HF_RESP_VERSION \"" version "\"\n\n" \
        includes "\n" text "\n#endif\n")
}

function make_source(    i) {
    begin("hf_resp.c")
    for (i = 1; i < ARGC; i++) {
        take("\n/* ---- " ARGV[i] " ---- */\n")
        copy(ARGV[i])
    }
    take_licence()
    write(out "/hf_resp.c", head "#include \"hf_resp.h\"\n\n" includes text)
}

BEGIN {
    make_header()
    make_source()
    exit
}
END { exit failed }
' $(cd "$root" && ls resp/*.c)
