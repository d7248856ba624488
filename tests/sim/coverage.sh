#!/bin/sh
# coverage.sh BUILD FOLDER...: of each folder's sources, built with --coverage in
# BUILD, how many lines were run, a line a file; and into BUILD/missed which were not.
set -eu
export LC_ALL=C

build=$1
shift
: >"$build/missed"
for folder; do
    for source in "$folder"/*.c; do
        data=$build/${source%.c}.gcda
        [ -e "$data" ] || continue
        gcov -t "$data" | awk -v name="$source" -v missed="$build/missed" -F: '
            $2 + 0 == 0 { is_it = $3 != "Source" ? is_it : $4 == name; next }
            !is_it || $1 ~ /-/ { next }
            { all++ }
            $1 ~ /[#=]/ { print name ":" $2 + 0 ":" substr($0, 17) >> missed; next }
            { run++ }
            END { printf "%s %d %d\n", name, run, all }'
    done | awk -v folder="$folder" '
        { printf "%5.1f %%  %5d of %5d  %s\n", 100 * $2 / $3, $2, $3, $1 }
        { run += $2; all += $3 }
        END { printf "%5.1f %%  %5d of %5d  %s/\n\n", 100 * run / all, run, all, folder }'
done
