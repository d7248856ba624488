# apply.awk -v out=FOLDER -v tests=PROGRAMS [-v only=FILE] MUTANTS: writes mutant N
# as FOLDER/N, the whole file with the one bug in it, and prints a line of: N, file,
# kind, what is wrong, and the tests to be asked: those that stand behind the file
# ("net_round": tests/test_net_round; "exhaust/lease": tests/exhaust/lease), or
# else PROGRAMS. Fails if the text of any does not stand in its file exactly once.

/^#/ {
    next
}

/^$/ {
    apply()
    next
}

title == "" {
    title = $0
    next
}

file == "" {
    file = $1
    asked = programs(substr($0, length($1) + 2))
    next
}

/^-/ {
    old = joined(old, ++old_lines)
    next
}

/^\+/ {
    new = joined(new, ++new_lines)
    next
}

{
    wrong("what is this? " $0)
}

END {
    apply()
    exit failed
}

function programs(names,    i, n, name, all) {
    n = split(names, name, " ")
    for (i = 1; i <= n; i++)
        all = all (i > 1 ? " " : "") "tests/" \
              (name[i] ~ /\// ? "" : "test_") name[i]
    return all
}

function joined(text, lines) {
    return (lines > 1 ? text "\n" : "") substr($0, 2)
}

function wrong(why) {
    print FILENAME ": " title ": " why > "/dev/stderr"
    failed = 1
}

function whole(path,    text, line) {
    while ((getline line < path) > 0)
        text = text line "\n"
    close(path)
    return text
}

function apply(    text, at) {
    if (title == "")
        return
    text = whole(file)
    at = index(text, old)
    if (!at || index(substr(text, at + 1), old))
        wrong("what is to be replaced stands in " file \
              (at ? " more than once" : " no more"))
    printf "%s%s%s", substr(text, 1, at - 1), new,
        substr(text, at + length(old)) > (out "/" ++count)
    close(out "/" count)
    at = index(title, ": ")
    if (only == "" || only == file)
        print count "\t" file "\t" substr(title, 1, at - 1) "\t" \
            substr(title, at + 2) "\t" (asked ? asked : tests)
    title = file = old = new = ""
    old_lines = new_lines = 0
}
