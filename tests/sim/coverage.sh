#!/bin/sh
# coverage.sh BUILD FOLDER...: what was run of each folder's sources, built with
# --coverage in BUILD, and of the scripts (BUILD/lua_lines, by HF_LUA_LINES). Prints
# lines and branches, a line a file; then the functions, the files' branches and the
# lines of scripts that were not reached. BUILD/missed has each line and branch.
#
# Fails if something was not reached that tests/sim/unreached.txt does not name.
set -eu
export LC_ALL=C

build=$1
shift
known=tests/sim/unreached.txt
: >"$build/missed"
: >"$build/unreached"

# ---- C: a row for each file, and into `unreached` what was not reached ----

one_file() { # SOURCE
    gcov -t -b -c "$build/${1%.c}.gcda" | awk -v name="$1" -v build="$build" -F: '
        function miss(text) { print name ":" line ": " text >>(build "/missed") }
        /^function / {
            split($0, word, " ")
            called = word[4]
            if (is_it && called == 0)
                print "function", name, word[2] >>(build "/unreached")
            next
        }
        /^branch/ {
            if (!is_it)
                next
            all_branches++
            if ($0 !~ /taken [1-9]/) {
                missed_branches++
                if (called > 0) {
                    in_called++
                    miss("branch not taken: " code)
                }
            }
            next
        }
        /^(call|unconditional)/ { next }
        $2 + 0 == 0 { is_it = $3 != "Source" ? is_it : $4 == name; next }
        !is_it || $1 ~ /-/ { next }
        { line = $2 + 0; code = substr($0, 17); all++ }
        $1 ~ /[#=]/ { miss(code); next }
        { run++ }
        END {
            if (in_called)
                print "branches", name, in_called >>(build "/unreached")
            printf "%s %d %d %d %d\n", name, run, all, all_branches - missed_branches, \
                all_branches
        }'
}

for folder; do
    for source in "$folder"/*.c; do
        [ ! -e "$build/${source%.c}.gcda" ] || one_file "$source"
    done | awk -v folder="$folder" '
        function part(n, of) { return of ? 100 * n / of : 100 }
        function row(name, r, a, b, c) {
            printf "%5.1f %% of %5d lines, %5.1f %% of %5d branches  %s\n", part(r, a), \
                a, part(b, c), c, name
        }
        { row($1, $2, $3, $4, $5); run += $2; all += $3; taken += $4; branches += $5 }
        END { row(folder "/", run, all, taken, branches); print "" }'
done

# ---- scripts: "lua NAME LINES", or "script NAME" that never ran ----

awk -v build="$build" '
    FNR == NR && /^const struct hf_script hf_script_/ {
        name = $4
        sub(/^hf_script_/, "", name)
        next
    }
    FNR == NR && name && /^    "[a-z_]+", / {
        sha = $0
        sub(/",$/, "", sha)
        sub(/.*"/, "", sha)
        of[sha] = name
        is_new[name] = 1
        name = ""
        next
    }
    FNR == NR || !($1 in of) { next }
    {
        delete is_new[of[$1]]
        text = $0
        sub(/^[^ ]+ [^ ]+ /, "", text)
        line = of[$1] " " text
        if (!(line in status))
            all++
        if (status[line] != "run")
            status[line] = $2
    }
    END {
        for (line in status) {
            if (status[line] == "run")
                continue
            missed++
            name = line
            sub(/ .*/, "", name)
            lines[name]++
            print "lock/script/lua/" name ".lua (as it is sent):" substr(line, \
                length(name) + 1) | "sort >>" build "/missed"
        }
        for (name in lines)
            print "lua", name, lines[name] >>(build "/unreached")
        for (name in is_new)
            print "script", name >>(build "/unreached")
        printf "%5.1f %% of %5d lines of the scripts that ran\n\n", \
            all ? 100 * (all - missed) / all : 0, all
    }' "$build/lock/script/scripts.c" "$build/lua_lines"

echo "not reached (each line and branch: $build/missed):"
sort "$build/unreached" | awk '
    $1 == "function" { of[$2] = of[$2] " " $3; next }
    { what[$1] = what[$1] "  " $2 ($3 == "" ? "" : " " $3) ";" }
    END {
        for (file in of)
            print "  " file ":" of[file] | "sort"
        close("sort")
        print "  branches of other functions:" what["branches"]
        print "  scripts that never ran:" what["script"]
        print "  lines of others:" what["lua"]
        print ""
    }'

# ---- the file that names what cannot be reached ----

# Rows "function FILE NAME", "branches FILE N", "lua SCRIPT N", "script NAME"; a "*" at
# the end of FILE, NAME or SCRIPT stands for anything. N is how many may be missed.
sort "$build/unreached" | awk -v known="$known" '
    function fits(pattern, text) {
        if (pattern ~ /\*$/)
            return index(text, substr(pattern, 1, length(pattern) - 1)) == 1
        return pattern == text
    }
    # The row that names it, or 0.
    function row_of(what, first, second,    i) {
        for (i = 1; i <= rows; i++)
            if (kind[i] == what && fits(a[i], first) &&
                (what != "function" || fits(b[i], second)))
                return i
        return 0
    }
    BEGIN {
        while ((getline text < known) > 0) {
            if (text ~ /^#/ || text ~ /^:/ || text ~ /^ *$/)
                continue
            n = split(text, word, " ")
            kind[++rows] = word[1]
            a[rows] = word[2]
            b[rows] = word[3]
        }
    }
    {
        i = row_of($1, $2, $3)
        used[i] = 1
        is_counted = $1 == "branches" || $1 == "lua"
        if (i && (!is_counted || $3 <= b[i]))
            next
        print i ? "more than " b[i] " of" : "not reached, and not named:", $0
        bad++
    }
    END {
        for (i = 1; i <= rows; i++)
            if (!(i in used))
                print "reached by now, remove it:", kind[i], a[i], b[i]
        if (bad)
            print bad " rows are not in " known ": reach them, or name them with a reason"
        exit bad > 0
    }'
