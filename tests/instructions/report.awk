# Makes a table of what callgrind counted: a line for each stream, a column for
# each way in which it was read. Input: stream, way, bytes, and each line again
# for about twice the bytes; `counts`.N is callgrind's file for line N. Compares
# with the table `expected` unless `update` is set. Lines that begin with ! say
# what is wrong; status 1 if anything is.

BEGIN {
    head = "# instructions per byte, " compiler ", " machine
    read_expected()
}

# Streams are named in the first 33 columns, in these tables.
function read_expected(    line, cell, name, i, n, rc) {
    while ((rc = getline line < expected) > 0) {
        if (line ~ /^# instructions/) {
            is_same = line == head
            is_comparable = !update && line ~ ", " machine "$"
        }
        name = substr(line, 1, 33)
        n = split(substr(line, 34), cell, " ")
        for (i = 1; i <= n; i++)
            was[name, i] = cell[i]
    }
    if (rc < 0 && !update)
        wrong("no " expected ": make it with --update")
}

function instructions(n,    path, line, total) {
    path = counts "." n
    while ((getline line < path) > 0)
        if (line ~ /^totals: /)
            total = substr(line, 9)
    close(path)
    if (!total) {
        print "nothing was counted in " path
        exit failed = 1
    }
    return total
}

function wrong(text) {
    complaints = complaints "! " text "\n"
}

function compare(cell, now, old) {
    if (old == "")
        wrong(cell ": not in " expected)
    else if (now + 0 > (is_same ? 1.1 : 1.25) * old)
        wrong(cell ": " now " instructions per byte, expected " old)
    else if (now + 0 < 0.9 * old && is_same)
        hints = hints cell ": " now ", no longer " old ": run.sh --update\n"
}

NR % 2 == 1 {
    bytes = $3
    count = instructions(NR)
    next
}

$1 != stream {
    stream = $1
    rows[++row] = sprintf("%-33s", stream)
    column = worst[row] = 0
}

{
    again = instructions(NR)
    times = 2 * (again / $3) / (count / bytes)
    per_byte = sprintf("%.3g", again / $3)
    cells[row, ++column] = per_byte
    ways[column] = $2
    if (times > worst[row])
        worst[row] = times
    if (times > 2.1)
        wrong(sprintf("%s, %s: twice the bytes cost %.1f times as much",
                      stream, $2, times))
    if (is_comparable)
        compare(stream ", " $2, per_byte, was[rows[row], column])
}

END {
    if (failed)
        exit failed
    print head
    printf "%-33s", "#"
    for (i = 1; i <= column; i++)
        printf "%9s", ways[i]
    print "    times"
    for (r = 1; r <= row; r++) {
        printf "%s", rows[r]
        for (i = 1; i <= column; i++)
            printf "%9s", cells[r, i]
        printf "%9.2f\n", worst[r]
    }
    print "# left out: all attributes of a value by hf_resp_attributes, all elements"
    print "# by hf_resp_element, whose cost is in the index, as resp.h says"
    printf "%s%s", complaints, hints
    exit complaints != ""
}
