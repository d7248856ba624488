# steps.awk: draws the tables "... step by step" of docs/architecture.md as SVG: a column for
# each folder, time running downwards. Run by `make steps`.
BEGIN {
    FS = "|"
    split("lock/api lock/verb lock/record lock/machine lock/script net/route net/link " \
          "net/loop server", lanes, " ")
    for (i = 1; i in lanes; i++)
        x[lanes[i]] = 40 + 72 * (i - 1)
    y = 30
}

function text(at, row, kind, words) {
    gsub(/&/, "\\&amp;", words)
    gsub(/</, "\\&lt;", words)
    gsub(/`|\*/, "", words)
    out = out sprintf("<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", at, row, kind, words)
}

function line(x1, y1, x2, y2, kind) {
    out = out sprintf("<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"%s\"/>\n",
                      x1, y1, x2, y2, kind)
}

# The lanes from the heading down to here.
function end_table() {
    if (!top)
        return
    for (i = 1; i in lanes; i++)
        line(x[lanes[i]], top, x[lanes[i]], y - 12, "lane")
    top = 0
}

function begin_table(title) {
    end_table()
    y += 24
    text(10, y, "title", title)
    y += 24
    for (i = 1; i in lanes; i++)
        text(x[lanes[i]], y, "head", lanes[i])
    y += 10
    top = y
    y += 16
    was = 0
}

# The action up to its first pause, which is enough beside the picture.
function brief(action) {
    sub(/^ +/, "", action)
    sub(/ +$/, "", action)
    if (length(action) > 76)
        sub(/[;:.] .*/, "", action)
    if (length(action) > 76)
        sub(/[,(] .*|\(.*/, "", action)
    return action
}

function step(lane, number, action) {
    if (was)
        line(was, y - 26, x[lane], y, "way")
    out = out sprintf("<circle cx=\"%d\" cy=\"%d\" r=\"9\"/>\n", x[lane], y)
    text(x[lane], y + 4, "number", number)
    text(680, y + 4, "action", brief(action))
    was = x[lane]
    y += 26
}

/^## .* step by step$/ { begin_table(substr($0, 4)); next }
/^## / { end_table() }
top && /^\| +[0-9]+ / {
    match($3, /(lock|net)\/[a-z]+/)
    step(substr($3, RSTART, RLENGTH), $2 + 0, $4)
}
top && /^\| +\| +\| +\*/ { step("server", "", $4) }

END {
    end_table()
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1240\" height=\"%d\">\n", y + 20
    print "<style>text{font:12px sans-serif}.title{font-weight:bold;font-size:15px}" \
          ".head,.number{text-anchor:middle}.head{font-size:11px}.number{fill:#fff;" \
          "font-size:10px}circle{fill:#246}.lane{stroke:#ccc}.way{stroke:#246}</style>"
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    printf "%s</svg>\n", out
}
