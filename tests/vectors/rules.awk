# Files: the names of vectors and tests (rules.sh); rules.txt; and, for a table
# of what deviates, a score's output.

function complain(what) {
    print "rules: " what >"/dev/stderr"
    bad = 1
}

# Appends to a list, once.
function add(list, key, item) {
    if (index(" " list[key] " ", " " item " ") == 0)
        list[key] = list[key] (key in list && list[key] != "" ? " " : "") item
}

# A glob as a regular expression.
function pattern(glob) {
    gsub(/[+.?$]/, "[&]", glob)
    gsub(/\*/, ".*", glob)
    return "^" glob "$"
}

# A name in the line of a rule.
function take(rule, name,    re, i, found) {
    if (name in place) {
        add(tests, rule, name)
        return
    }
    re = pattern(name)
    for (i = 0; i < vector_count; i++) {
        if (vectors[i] ~ re) {
            add(of_rule, rule, vectors[i])
            add(claims, vectors[i], rule)
            found = 1
        }
    }
    if (!found)
        complain(rule ": no such test or vector: " name)
}

FNR == 1 { file++ }

file == 1 && $1 == "vector" { vectors[vector_count++] = $2 }
file == 1 && $1 == "test" { add(place, $2, $3) }

file == 2 && (/^#/ || /^$/) { next }
file == 2 && /^ / { for (i = 1; i <= NF; i++) take(rule, $i) }
file == 2 && /^[^ ]/ {
    rule = $1
    rules[rule_count++] = rule
    end = match($0, / \|[^|]*$/)
    says[rule] = substr($0, length(rule) + 4, end - length(rule) - 4)
    split(substr($0, end + 2), rest, " ")
    for (i = 1; i in rest; i++)
        take(rule, rest[i])
}

# name | RESP2 | way | why
file == 3 && / \| RESP[23] \| / {
    split(claims[$1], of, " ")
    for (i = 1; i in of; i++)
        add(deviating, of[i], $1)
}

# TEXT, folded and indented.
function put(text,    words, line, i) {
    split(text, words, " ")
    line = "     "
    for (i = 1; i in words; i++) {
        if (length(line) + length(words[i]) > 78 && line != "     ") {
            print line
            line = "     "
        }
        line = line " " words[i]
    }
    if (line != "     ")
        print line
}

function put_rule(rule,    names, i, all) {
    printf "%-4s %s\n", rule, says[rule]
    put(of_rule[rule])
    split(tests[rule], names, " ")
    for (i = 1; i in names; i++) {
        all = place[names[i]]
        gsub(/ /, ", ", all)
        print "      " names[i] " (" all ")"
    }
}

# As a row of Markdown.
function put_deviating(rule,    none, what) {
    if (deviating[rule] == "")
        return
    what = says[rule]
    gsub(/\|/, "\\|", what)
    printf "| %s | %s | %d of %d | %s |\n", rule, what,
        split(deviating[rule], none, " "), split(of_rule[rule], none, " "),
        deviating[rule]
}

END {
    for (i = 0; i < vector_count; i++) {
        if (!(vectors[i] in claims))
            complain("no rule has the vector " vectors[i])
    }
    for (i = 0; i < rule_count; i++) {
        if (of_rule[rules[i]] == "" && tests[rules[i]] == "")
            complain(rules[i] ": no test")
        if (file == 3)
            put_deviating(rules[i])
        else if (!quiet)
            put_rule(rules[i])
    }
    if (quiet && !bad)
        printf "rules: %d, each with a test; %d vectors, each with a rule\n",
            rule_count, vector_count
    exit bad
}
