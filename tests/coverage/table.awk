# How much of each file is covered: lines as `llvm-cov show` has them, branches
# and conditions as facts.jq has them. Reads both, in any order.
BEGIN { FS = "[|\t]" }

function add(kind, file, is) {
    all[kind, file]++
    all[kind, "all"]++
    covered[kind, file] += is
    covered[kind, "all"] += is
}

function cell(kind, file) {
    return sprintf("%s %4d of %-4d", kind, covered[kind, file],
                   all[kind, file])
}

function row(file) {
    printf "%-14s %s  %s  %s\n", file, cell("lines", file),
        cell("branches", file), cell("conditions", file)
}

# A file's name; then its lines: a number, how often it ran if it is code, text.
/^[^ |\t]+:$/ {
    file = substr($0, 1, length($0) - 1)
    if (!(file in known))
        files[++count] = file
    known[file]
}
/^ *[0-9]+\|/ && $2 ~ /[0-9]/ { lines[file, $1 + 0] += $2 ~ /[1-9]/ }

# A fact: is it covered, file, function, what, text.
$4 ~ /^never (true|false)$/ { add("branches", $2, $1 == "yes") }
$4 ~ /^never decides/ { add("conditions", $2, $1 == "yes") }

END {
    for (line in lines) {
        split(line, at, SUBSEP)
        add("lines", at[1], lines[line] > 0)
    }
    for (i = 1; i <= count; i++)
        row(files[i])
    row("all")
}
