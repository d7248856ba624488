#!/bin/sh
# man3.sh OUT DATE_OF HEADER...: writes the manual pages of the installed headers to OUT: one for
# each header (holdfast-lock.3 of lock/lock.h), a page that leads to it for each of its functions
# (hf_lock_acquire.3), and holdfast.3, which lists the pages. DATE_OF is a page whose date they
# have. man3.sh --names HEADER...: prints the names of these files instead.
set -eu
here=$(dirname "$0")

page_of() { name=${1##*/}; echo "holdfast-${name%.h}"; }
functions_of() { awk -v list=1 -f "$here/man3.awk" "$1"; }

if [ "$1" = --names ]; then
    shift
    echo holdfast.3
    for header; do
        [ "$header" != holdfast.h ] || continue
        echo "$(page_of "$header").3"
        functions_of "$header" | sed 's/$/.3/'
    done
    exit
fi

out=$1 date=$(grep -m 1 '^\.Dd ' "$2")
shift 2
rm -rf "$out"
mkdir -p "$out"
for header; do
    [ "$header" != holdfast.h ] || continue
    page=$(page_of "$header")
    awk -v page="$page" -v include=holdfast/holdfast.h -v date="$date" -f "$here/man3.awk" \
        "$header" >"$out/$page.3"
    for function in $(functions_of "$header"); do
        echo ".so man3/$page.3" >"$out/$function.3"
    done
done

{
    cat <<PAGE
$date
.Dt HOLDFAST 3
.Os
.Sh NAME
.Nm holdfast
.Nd library of distributed locks on Redis and Valkey
.Sh SYNOPSIS
.In holdfast/holdfast.h
.Pp
.Dl cc example.c \$(pkg-config --cflags --libs holdfast)
.Sh DESCRIPTION
A program creates a client with the URL of its server, and handles on locks by their names.
The header
.In holdfast/holdfast.h
includes all others.
There is a manual page for each header, and one of the name of each function leads to it:
.Bl -tag -width Ds
PAGE
    for header; do
        [ "$header" != holdfast.h ] || continue
        page=$(page_of "$header")
        echo ".It Xr $page 3"
        sed -n 's/^\.Nd //p' "$out/$page.3"
    done
    cat <<PAGE
.El
.Pp
Begin with
.Xr holdfast-lock 3
and
.Xr holdfast-connect 3 .
.Sh EXAMPLES
A program that acquires a lock, and releases it:
.Bd -literal
PAGE
    awk '/^```c$/ { on = 1; next } /^```$/ { exit_now = on; on = 0 } exit_now { exit } on' README.md |
        sed 's/\\/\\e/g; s/^[.'"'"']/\\\&&/'
    cat <<PAGE
.Ed
.Sh SEE ALSO
.Xr holdfast 1 ,
.Xr holdfast-url 7
PAGE
} >"$out/holdfast.3"
