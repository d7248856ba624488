# growth.awk: draws the tables of docs/growth.md as SVG, a panel for each table that follows a
# comment "<!-- draw: COLUMN ... -->". Both axes are logarithmic: a flat line is a cost that is the
# same for each hold, client or master; a line that rises is one that grows with their number.
# Run by `make growth-picture`.
BEGIN {
    FS = "|"
    WIDE = 620
    HIGH = 350
    split("#246 #c40 #282 #828 #088 #a80 #555", colours, " ")
}

function text(x, y, kind, words) {
    gsub(/&/, "\\&amp;", words)
    gsub(/</, "\\&lt;", words)
    out = out sprintf("<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, kind, words)
}

function line(x1, y1, x2, y2) {
    out = out sprintf("<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"grid\"/>\n", x1, y1, x2, y2)
}

function number(cell) {
    gsub(/[^0-9.]/, "", cell)
    return cell + 0
}

function log10(n) {
    return log(n) / log(10)
}

function floor(n) {
    return n < int(n) ? int(n) - 1 : int(n)
}

function place_x(n) {
    return left + 50 + (log10(n) - x_from) / (x_to - x_from) * (WIDE - 90)
}

function place_y(n) {
    return top + HIGH - 30 - (log10(n) - y_from) / (y_to - y_from) * (HIGH - 150)
}

function power(n) {
    return n < 0 ? sprintf("%.*f", -n, 10 ^ n) : sprintf("%d", 10 ^ n)
}

# The decades of both axes.
function draw_axes(    n) {
    for (n = x_from; n <= x_to; n++) {
        line(place_x(10 ^ n), place_y(10 ^ y_from), place_x(10 ^ n), place_y(10 ^ y_to))
        text(place_x(10 ^ n), top + HIGH - 14, "middle", power(n))
    }
    for (n = y_from; n <= y_to; n++) {
        line(place_x(10 ^ x_from), place_y(10 ^ n), place_x(10 ^ x_to), place_y(10 ^ n))
        text(left + 44, place_y(10 ^ n) + 4, "end", power(n))
    }
}

function draw_column(c, order,    r, points) {
    for (r = 1; r <= rows; r++)
        if (value[r, c] > 0)
            points = points sprintf("%d,%d ", place_x(value[r, 2]), place_y(value[r, c]))
    out = out sprintf("<polyline points=\"%s\" stroke=\"%s\"/>\n", points, colours[order])
    out = out sprintf("<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"3\" fill=\"%s\"/>\n",
                      left + 50 + 290 * ((order - 1) % 2), top + 37 + 16 * int((order - 1) / 2), colours[order])
    text(left + 68 + 290 * ((order - 1) % 2), top + 42 + 16 * int((order - 1) / 2), "legend", head[c])
}

function draw_panel(    i, r) {
    left = WIDE * (panels % 2)
    top = HIGH * int(panels / 2)
    panels++
    x_from = floor(log10(value[1, 2]))
    x_to = -floor(-log10(value[rows, 2]))
    y_from = 99
    y_to = -99
    for (i = 1; i <= drawn; i++)
        for (r = 1; r <= rows; r++)
            if (value[r, column[i]] > 0) {
                if (floor(log10(value[r, column[i]])) < y_from)
                    y_from = floor(log10(value[r, column[i]]))
                if (-floor(-log10(value[r, column[i]])) > y_to)
                    y_to = -floor(-log10(value[r, column[i]]))
            }
    text(left + 10, top + 20, "title", title)
    draw_axes()
    for (i = 1; i <= drawn; i++)
        draw_column(column[i], i)
}

/^## / { title = substr($0, 4) }
/^<!-- draw:/ {
    drawn = split($0, words, " ") - 3
    for (i = 1; i <= drawn; i++)
        column[i] = words[i + 2] + 1
    rows = 0
    is_head = 1
    next
}
drawn && /^\|[- :|]+$/ { next }
drawn && /^\|/ && is_head {
    for (i = 2; i < NF; i++) {
        head[i] = $i
        gsub(/^ +| +$/, "", head[i])
    }
    is_head = 0
    next
}
# A row with words in its first cell, such as "1,000, scattered", is not a point of a line.
drawn && /^\|/ && $2 !~ /[a-z]/ {
    rows++
    for (i = 2; i < NF; i++)
        value[rows, i] = number($i)
}
drawn && !/^\|/ && rows {
    draw_panel()
    drawn = 0
}

END {
    if (drawn && rows)
        draw_panel()
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n", 2 * WIDE,
           HIGH * int((panels + 1) / 2)
    print "<style>text{font:12px sans-serif}.title{font-weight:bold;font-size:15px}" \
          ".middle{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#ddd}" \
          "polyline{fill:none;stroke-width:2}</style>"
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    printf "%s</svg>\n", out
}
