# Mends the links of one document: doc_links.sh.

# PATH without "." and "..".
function normal(path,    parts, kept, count, i, n, text) {
    count = split(path, parts, "/")
    for (i = 1; i <= count; i++)
        if (parts[i] == ".." && n > 0)
            n--
        else if (parts[i] != "" && parts[i] != ".")
            kept[++n] = parts[i]
    for (i = 1; i <= n; i++)
        text = text (i > 1 ? "/" : "") kept[i]
    return text
}

function exists(path) {
    if (!(path in known))
        known[path] = system("test -e '" path "'") == 0
    return known[path]
}

# TO, as a folder FROM sees it; both absolute.
function relative(from, to,    a, b, n, m, i, k, text) {
    n = split(normal(from), a, "/")
    m = split(normal(to), b, "/")
    for (i = 1; i <= n && i < m && a[i] == b[i]; i++)
        ;
    for (k = i; k <= n; k++)
        text = text "../"
    for (k = i; k <= m; k++)
        text = text b[k] (k < m ? "/" : "")
    return text
}

function mend(link,    text, target, anchor, path) {
    text = link
    sub(/\]\([^()]*\)$/, "", text)
    target = substr(link, length(text) + 3)
    sub(/\)$/, "", target)
    text = substr(text, 2)
    if (match(target, /#/)) {
        anchor = substr(target, RSTART)
        target = substr(target, 1, RSTART - 1)
    }
    path = normal(folder "/" target)
    if (exists(root docs "/" path))
        return link
    if (exists(root headers "/" path))
        return "[" text "](" relative(docs "/" folder, headers "/" path) anchor ")"
    return text
}

{
    whole = whole $0 "\n"
}

# A target is a path, so that an expression of C is not taken for a link.
END {
    folder = page
    if (!sub(/\/[^\/]*$/, "", folder))
        folder = ""
    while (match(whole, /\[[^][]*\]\([A-Za-z0-9_.\/-]*[.\/][A-Za-z0-9_.\/-]*(#[^()]*)?\)/)) {
        at = RSTART
        link = substr(whole, at, RLENGTH)
        printf "%s%s", substr(whole, 1, at - 1), mend(link)
        whole = substr(whole, at + length(link))
    }
    printf "%s", whole
}
