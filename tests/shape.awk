# shape.awk: what tests/shape.sh compares, one finding a line:
#     lines FILE N              of each file
#     function FOLDER N FILE:LINE NAME
#     undocumented FILE:LINE NAME   of the headers in `installed`
#     layout FILE:LINE what is wrong
# A function counts from its first line of declaration to its closing brace.

BEGIN {
    split(installed, list)
    for (i in list)
        is_public[list[i]] = 1
}
FNR == 1 { begin_file() }
{ lines[FILENAME] = FNR }
{ check_layout() }
FILENAME ~ /\.c$/ { measure() }
FILENAME in is_public { read_header() }
END {
    for (name in lines)
        print "lines", name, lines[name]
}

function begin_file()
{
    folder = FILENAME
    sub(/\/.*/, "", folder)
    head = body = 0
    comment = declaration = ""
    is_comment = has_function = 0
    is_remark = depth = is_continued = 0
    before = ""
}

# ---- layout: docs/contributing.md ----

function complain(text)
{
    print "layout", FILENAME ":" FNR, text
}

function check_layout(    code)
{
    if (length($0) > 100 && FILENAME !~ /^tests\//)
        complain("has more than 100 columns")
    if (/[ \t]$/)
        complain("ends in white space")
    if (/\t/)
        complain("contains a tab")
    code = code_of($0)
    if (code ~ /[^ ]/) {
        check_code(code)
        before = code
    }
}

# The line without comments, and without what strings and characters contain.
function code_of(text)
{
    gsub(/\\./, "x", text)
    gsub(/'[^']'/, "x", text)
    gsub(/"[^"]*"/, "x", text)
    if (is_remark && !sub(/^.*\*\//, "", text))
        return ""
    is_remark = 0
    while (match(text, /\/\*/)) {
        if (!match(text, /\/\*.*\*\//)) {
            is_remark = 1
            sub(/\/\*.*/, "", text)
        } else
            sub(/\/\*([^*]|\*[^\/])*\*\//, "", text)
    }
    sub(/ +$/, "", text)
    return text
}

# The line before its first brace; "" if it has none.
function head_of(code)
{
    return sub(/\{.*/, "", code) && code !~ /=/ ? code : ""
}

# The line without what is between parentheses.
function flat(code)
{
    sub(/ *\\$/, "", code)
    while (sub(/\([^()]*\)/, "", code))
        continue
    return depth == 0 && code !~ /[()]/ ? code : ""
}

function check_code(code,    indent)
{
    match(code, /^ */)
    indent = RLENGTH
    if (code ~ /(^|[^a-z_A-Z0-9])(if|for|while|switch|else)[({]/)
        complain("has no space after a keyword")
    if (code ~ /^ *else/ && before ~ /^ *}$/)
        complain("else is not on the line of the brace before it")
    if (code ~ /^ +\{$/ && before ~ /\)$/)
        complain("the brace is not on the line of its condition")
    if (code ~ /^[a-z]/ && head_of(code) ~ /\) *$/)
        complain("the brace of a function is not on a line of its own")
    else if (code ~ /\) *\{[^{}]*;/)
        complain("has a statement after a brace")
    else if (code !~ /^ *(case|default)/ && flat(code) ~ /;.*[^ ]/)
        complain("has two statements")
    if (code ~ /^[a-zA-Z_][^=(]*[^ ]  +[^ =(][^=(]*\(/)
        complain("has two blanks before the parameters")
    if (!is_continued && depth == 0 && before ~ /[;{}]$/ && code !~ /:$/ &&
        code ~ /^ *[a-z_A-Z]/ && indent % 4 != 0)
        complain("is not indented by a multiple of 4")
    depth += gsub(/\(/, "(", code) - gsub(/\)/, ")", code)
    is_continued = code ~ /\\$/
}

# ---- functions: a brace alone on its line begins and ends one ----

function measure()
{
    if ($0 == "{")
        body = head
    if ($0 == "}" && body) {
        print "function", folder, FNR - body + 1, FILENAME ":" body, called
        body = head = 0
    }
    if (!/^[A-Za-z_]/ && !(head && /^ /))
        head = 0
    else if (!head) {
        head = FNR
        called = name_in($0)
    } else if (called == "")
        called = name_in($0)
    if (/;$/)
        head = 0
}

function name_in(text)
{
    if (!match(text, /[a-z_][a-z0-9_]*\(/))
        return ""
    return substr(text, RSTART, RLENGTH - 1)
}

# ---- headers: a comment speaks of the declarations up to an empty line ----

function read_header()
{
    if (/^$/) {
        comment = declaration = ""
        has_function = 0
    } else if (is_comment || /^\/\*/)
        read_comment()
    else if (declaration != "" || /^(HF_[A-Z]+ )*(static|const|struct|[a-z])/)
        read_declaration()
}

function read_comment()
{
    if (!is_comment && has_function) {
        comment = ""
        has_function = 0
    }
    comment = comment $0 "\n"
    is_comment = !/\*\//
}

function read_declaration()
{
    declaration = declaration $0
    if (!/[;{]/)
        return
    if (declaration !~ /^(typedef|#)/ && match(declaration, /hf_[a-z0-9_]*\(/))
        look(substr(declaration, RSTART, RLENGTH - 1))
    declaration = ""
}

# The first function behind a comment is what it speaks of; others it names.
function look(name)
{
    if (comment !~ /[a-z]+ [a-z]+/ ||
        has_function && comment !~ ("(^|[^a-z0-9_])" name "([^a-z0-9_]|$)"))
        print "undocumented", FILENAME ":" FNR, name
    has_function = 1
}
