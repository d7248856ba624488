#!/bin/sh
# nightly_page.sh RESULTS FOLDER: the page of make nightly from its results
# (tests/nightly.sh): FOLDER/report.txt and FOLDER/report.html. For each unit: runs,
# operations, seconds and findings over all nights, and the build of its last run, which
# has assertions if its name says so; then each finding with its log.
set -eu

results=$1 folder=$2

awk -F '\t' '
{
    if (!($2 in runs)) order[++n] = $2
    runs[$2] += $4; ops[$2] += $5; seconds[$2] += $3; build[$2] = $8
    if ($6 != "good") { bad[$2]++; list = list sprintf("%s %s %s %s\n", $1, $6, $2, $7) }
}
END {
    printf "%-12s %12s %16s %10s %9s  %s\n", "unit", "runs", "operations", "seconds", "findings",
        "build"
    for (i = 1; i <= n; i++) {
        u = order[i]
        printf "%-12s %12d %16d %10d %9d  %s\n", u, runs[u], ops[u], seconds[u], bad[u], build[u]
        r += runs[u]; o += ops[u]; s += seconds[u]; b += bad[u]
    }
    printf "%-12s %12d %16d %10d %9d\n", "all", r, o, s, b
    if (list != "") printf "\nfindings:\n%s", list
}' "$results" >"$folder/report.txt"

# The same as HTML; a bar for each unit shows its share of the operations.
awk -F '\t' '
function text(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); return s }
{
    if (!($2 in runs)) order[++n] = $2
    runs[$2] += $4; ops[$2] += $5; seconds[$2] += $3; build[$2] = $8
    if ($6 != "good") {
        bad[$2]++
        list = list "<li>" text($1 ": " $6 ", " $2 ": ") "<code>" text($7) "</code></li>\n"
    }
}
END {
    print "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">"
    print "<title>holdfast: nightly runs</title>"
    print "<style>body{font:16px sans-serif;margin:2em}td,th{padding:.2em 1em;text-align:right}</style>"
    print "<h1>Nightly runs</h1>\n<table><tr><th>unit<th>runs<th>operations<th>seconds<th>findings<th>build<th>operations</tr>"
    for (i = 1; i <= n; i++) if (ops[order[i]] > most) most = ops[order[i]]
    for (i = 1; i <= n; i++) {
        u = order[i]
        width = most ? 300 * ops[u] / most : 0
        printf "<tr><td>%s<td>%d<td>%d<td>%d<td>%d<td>%s<td style=\"text-align:left\">", text(u), runs[u], ops[u], seconds[u], bad[u], text(build[u])
        printf "<svg width=\"300\" height=\"14\"><rect width=\"%d\" height=\"14\" fill=\"%s\"/></svg></tr>\n", width, bad[u] ? "#c33" : "#38a"
    }
    print "</table>"
    if (list != "") print "<h2>Findings</h2>\n<ul>\n" list "</ul>"
    else print "<p>No findings.</p>"
    print "</html>"
}' "$results" >"$folder/report.html"
cat "$folder/report.txt"
