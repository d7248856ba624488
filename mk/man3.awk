# man3.awk: writes the manual page of an installed header (mdoc) to standard output.
# Variables: page (its name), include (the line of a program), date (a line .Dd).
# With list=1 it writes the names of the header's functions instead, each on a line.
#
# The header's first comment is the description; a comment "---- text ----" begins a section; a
# comment that begins with names of functions belongs to these; types and constants are quoted.
# In a comment, two spaces after a term make it an item of a list, whose text continues in the
# column of its first word; text that is indented otherwise is quoted as it is.

function fail(why) { print FILENAME ": " why > "/dev/stderr"; is_failed = 1; exit 1 }

# ---- mdoc ----

function emit(s) { body = body s "\n" }

function escape(s) {
    gsub(/\\/, "\\e", s)
    return s
}

# A line of prose: each sentence begins a line.
function put_prose(s,    parts, n, i) {
    gsub(/\. +/, ".\n", s)
    n = split(s, parts, "\n")
    for (i = 1; i <= n; i++)
        put_text(parts[i])
}

# A line of text: it never begins with a control character.
function put_text(s) {
    s = escape(s)
    emit((s ~ /^[.']/ ? "\\&" : "") s)
}

# An argument of a macro: its words are neither macros nor delimiters.
function quote(s) {
    s = escape(s)
    gsub(/"/, "\\(dq", s)
    return "\"" s "\""
}

function paragraph() {
    if (!is_fresh)
        emit(".Pp")
    is_fresh = 1
}

function literal_begin(offset) {
    emit((is_fresh ? ".Bd -literal -compact" : ".Bd -literal") " -offset " offset)
}

function literal_end() { emit(".Ed"); is_fresh = 0 }

# ---- comments ----

function indent_of(s) { match(s, /^ */); return RLENGTH }

# Returns the column of an item's text, or 0 if the line is not an item.
function item_column(s,    at) {
    if (!match(s, /^ *[^ ]+( [^ ]+)*  +[^ ]/))
        return 0
    at = RLENGTH - 1
    # The two spaces that follow the first words.
    match(s, /[^ ]  +[^ ]/)
    at = RSTART + RLENGTH - 2
    return RSTART - indent_of(s) <= 44 ? at : 0
}

# Line i is an item whose text begins on the next line.
function is_long_item(i, column) {
    return i < lines && line[i + 1] != "" && indent_of(line[i + 1]) >= column - 1 && \
        indent_of(line[i + 1]) > indent_of(line[i]) + 3
}

# An item of a list: line i, whose term ends before column `at`. Text that continues it begins in
# column `column` or later. Returns the last line that was used.
function put_item(i, at, column,    term) {
    term = substr(line[i], 1, at)
    gsub(/^ +| +$/, "", term)
    emit(".It " quote(term))
    is_fresh = 1
    if (substr(line[i], at + 1) != "")
        put_prose(substr(line[i], at + 1))
    while (i < lines && line[i + 1] != "" && indent_of(line[i + 1]) >= column - 1) {
        i++
        if (item_column(line[i])) {
            is_fresh = 0
            i = put_list(i)
        } else {
            put_prose(substr(line[i], indent_of(line[i]) + 1))
        }
    }
    is_fresh = 0
    return i
}

# A list from line i. Returns its last line.
function put_list(i,    column, level, at) {
    if (line[i] ~ /^ *Returns /) {
        paragraph()
        emit("Returns:")
        is_fresh = 0
        # The terms are in the column after this word.
        sub(/Returns /, "        ", line[i])
    }
    level = indent_of(line[i])
    column = item_column(line[i])
    if (!column)
        column = item_column(line[i + 1])
    emit(".Bl -tag -width Ds" (is_fresh ? " -compact" : ""))
    for (;;) {
        at = item_column(line[i])
        i = put_item(i, at ? at : length(line[i]), at && at < column ? at : column)
        if (i + 1 < lines && line[i + 1] == "" && item_column(line[i + 2]) && \
            indent_of(line[i + 2]) == level)
            i++
        if (i >= lines || line[i + 1] == "" || indent_of(line[i + 1]) != level || \
            line[i + 1] ~ /^ *Returns / || \
            !item_column(line[i + 1]) && !is_long_item(i + 1, column) && line[i + 1] !~ /^ *HF_/)
            break
        i++
    }
    emit(".El")
    is_fresh = 0
    return i
}

# Lines from i that are indented by more than `hang`, as they are. Returns the last one.
function put_quoted(i, hang,    last, level, j) {
    level = indent_of(line[i])
    for (last = i; last < lines; last++)
        if (line[last + 1] != "" && indent_of(line[last + 1]) <= hang + 1)
            break
    while (line[last] == "")
        last--
    # The first line of a table may be indented more.
    for (j = i; j <= last; j++)
        if (line[j] != "" && indent_of(line[j]) < level)
            level = indent_of(line[j])
    literal_begin("indent")
    for (j = i; j <= last; j++)
        put_text(substr(line[j], level + 1))
    literal_end()
    return last
}

# "Returns HF_OK", with nothing about it.
function is_short_return(i) {
    return line[i] ~ /^ *Returns [A-Z_]+$/ && i < lines && item_column(line[i + 1]) && \
        indent_of(line[i + 1]) == indent_of(line[i]) + 8
}

# The comment's lines, of which the first `from - 1` were used. `hang`: the indentation of text
# that continues the first line.
function put_comment(from, hang,    i, indent, was_blank, before) {
    was_blank = from == 1
    for (i = from; i <= lines; i++) {
        indent = indent_of(line[i])
        if (line[i] == "") {
            was_blank = 1
            continue
        }
        before = i > 1 ? line[i - 1] : ""
        if (indent == 0 && i > from)
            hang = 0
        if (is_short_return(i) || item_column(line[i]) && (indent <= 2 || !was_blank || line[i] ~ /^ *Returns /) && \
            before !~ /:$/ || line[i] ~ /^ *Returns .*[^ ]  +[^ ]/) {
            if (was_blank)
                paragraph()
            i = put_list(i)
            was_blank = 1
            continue
        }
        if (indent > hang + 1 && (indent >= 4 || before ~ /:$/) && (was_blank || before ~ /[:,]$/ || item_column(line[i])) && \
            !(i < lines && before !~ /:$/ && line[i + 1] != "" && indent_of(line[i + 1]) <= hang)) {
            i = put_quoted(i, hang)
            was_blank = 1
            continue
        }
        if (was_blank || i > from && indent > hang + 1 && indent > indent_of(before))
            paragraph()
        put_prose(substr(line[i], indent + 1))
        is_fresh = was_blank = 0
        # "Cost:", "Threads:" and "Source:" begin a paragraph of their own.
        if (i < lines && line[i + 1] ~ /^ *(Cost|Threads|Errors|Sources?|Order|Returns): /)
            was_blank = 1
    }
}

function read_comment(first,    s, is_last) {
    lines = 0
    for (s = first; ; ) {
        is_last = sub(/ *\*\/ *$/, "", s)
        if (lines == 0)
            sub(/^\/\* ?/, "", s)
        else
            sub(/^ \* ?/, "", s)
        sub(/ +$/, "", s)
        line[++lines] = s
        if (is_last)
            break
        if ((getline s) <= 0)
            fail("a comment without an end")
    }
    while (lines > 0 && line[lines] == "")
        lines--
}

# Of the comment, for the title of the page.
function first_sentence(    s, i) {
    for (i = 1; i <= lines && line[i] != ""; i++)
        s = s (i > 1 ? " " : "") line[i]
    sub(/\. .*|\.$/, "", s)
    sub(/^holdfast: /, "", s)
    return s ~ /^[A-Z][a-z]* [a-z]|^The [A-Za-z]/ ? tolower(substr(s, 1, 1)) substr(s, 2) : s
}

# ---- functions ----

# "hf_lock_new, hf_lock_free - text": returns the names; `first_text` receives the text. A list of names may
# continue on the next line.
function names_of_comment(    s, i) {
    s = line[1]
    for (i = 1; s ~ /,$/ && i < lines; i++)
        s = s " " substr(line[i + 1], indent_of(line[i + 1]) + 1)
    if (s !~ /^hf_[a-z0-9_]+(, hf_[a-z0-9_]+)* - /)
        return ""
    first_line = i
    match(s, / - /)
    first_text = substr(s, RSTART + 3)
    return substr(s, 1, RSTART - 1)
}

function section(text) {
    gsub(/^-+ | -+$/, "", text)
    is_in_function = 0
    heading(".Sh " quote(toupper(text)))
}

function heading(text) { emit(text); is_fresh = 1 }

# Begins the part of these functions.
function put_names(names) {
    if (!has_heading)
        heading(".Ss " names)
    has_heading = 0
    is_in_function = 1
    line[first_line] = toupper(substr(first_text, 1, 1)) substr(first_text, 2)
    put_comment(first_line, 2)
}

# The names of the functions that have a paragraph of their own in the comment.
function names_inside(    i, names) {
    for (i = 1; i <= lines; i++)
        if ((i == 1 || line[i - 1] == "") && match(line[i], /^hf_[a-z0-9_]+ - /))
            names = names (names == "" ? "" : ", ") substr(line[i], 1, RLENGTH - 3)
    return names
}

# A comment that names no function waits for the declaration that it describes.
function flush_comment(subject) {
    if (!is_waiting)
        return
    is_waiting = 0
    if (is_in_function && subject != "")
        heading(".Ss " subject)
    is_in_function = is_in_function || subject != ""
    put_comment(1, 0)
}

# A paragraph in a comment that begins with a function's name begins its part.
function put_mixed_comment(    i, j, n, whole, names) {
    if (names_of_comment() == "") {
        names = names_inside()
        if (names == "") {
            is_waiting = 1
            return
        }
        if (is_in_function)
            heading(".Ss " names)
        has_heading = is_in_function && names !~ /,/
    }
    n = lines
    for (i = 1; i <= n; i++)
        whole[i] = line[i]
    for (i = 1; i <= n; i = j + 1) {
        for (j = i; j < n && !(whole[j] == "" && whole[j + 1] ~ /^hf_[a-z0-9_]+ - /); )
            j++
        lines = 0
        for (; i <= j; i++)
            line[++lines] = whole[i]
        while (lines > 0 && line[lines] == "")
            lines--
        names = names_of_comment()
        if (names != "")
            put_names(names)
        else if (lines > 0)
            put_comment(1, 0)
    }
}

# ---- code ----

# "lock/lock.h", with its quotes: holdfast-lock.
function page_of(path) {
    gsub(/"|\.h/, "", path)
    sub(/.*\//, "", path)
    return "holdfast-" path
}

function is_noise(s) {
    return s ~ /^#(ifndef|define) HF_[A-Z_]*_H$/ || s ~ /^#(include|if|ifdef|ifndef|else|elif|endif)/ || \
        s ~ /^extern "C"/ || s ~ /^}$/ || s ~ /^$/
}

# Splits the arguments of a prototype for .Fa.
function put_prototype(s,    name, type, arguments, n, i, one, depth) {
    gsub(/HF_API |HF_MUST_CHECK|static inline /, "", s)
    gsub(/[ \n]+/, " ", s)
    gsub(/^ | *;? *$/, "", s)
    if (!match(s, /hf_[a-z0-9_]+\(/)) {
        prototype[++prototypes] = ".Vt " quote(s)
        return
    }
    name = substr(s, RSTART, RLENGTH - 1)
    type = substr(s, 1, RSTART - 1)
    arguments = substr(s, RSTART + RLENGTH)
    sub(/\)$/, "", arguments)
    sub(/ $/, "", type)
    functions[++function_count] = name
    s = ".Ft " quote(type) "\n.Fo " name
    one = ""
    depth = 0
    n = length(arguments)
    for (i = 1; i <= n + 1; i++) {
        c = i > n ? "," : substr(arguments, i, 1)
        if (c == "(" || c == "[") depth++
        if (c == ")" || c == "]") depth--
        if (c == "," && (depth == 0 || i > n)) {
            gsub(/^ | $/, "", one)
            s = s "\n.Fa " quote(one)
            one = ""
        } else {
            one = one c
        }
    }
    prototype[++prototypes] = s "\n.Fc"
}

# What a declaration declares, as a heading.
function subject_of(s) {
    sub(/^typedef /, "", s)
    sub(/^#define /, "", s)
    sub(/^HF_API extern .* /, "", s)
    if (match(s, /hf_[a-z0-9_]+\(/))
        return substr(s, RSTART, RLENGTH - 1)
    if (match(s, /^(struct|enum|union) hf_[a-z0-9_]+/) || match(s, /^HF_[A-Z0-9_]+/) || \
        match(s, /hf_[a-z0-9_]+;/))
        return substr(s, RSTART, RLENGTH - (substr(s, RSTART + RLENGTH - 1, 1) == ";"))
    if (match(s, /HF_[A-Z0-9_]+/))
        return substr(s, RSTART, RLENGTH)
    return ""
}

function put_code(s,    rest, text, lines_of_code, is_function, depth, is_more) {
    is_function = s ~ /^(HF_API|HF_MUST_CHECK|static inline)/
    text = s
    depth = 0
    for (;;) {
        rest = s
        gsub(/"([^"\\]|\\.)*"/, "", rest)
        is_more = rest ~ /\\$/
        gsub(/\/\*.*/, "", rest)
        depth += gsub(/\{/, "{", rest) - gsub(/\}/, "}", rest)
        if (text ~ /^#/ ? !is_more : depth == 0 && rest ~ /[;}] *$/)
            break
        if ((getline s) <= 0)
            fail("a declaration without an end")
        text = text "\n" s
    }
    if (is_function)
        sub(/[ \n]*\{.*/, "", text)
    if (is_waiting)
        flush_comment(subject_of(text))
    else if (!is_function && was_empty && is_in_function && text !~ /^(struct hf_[a-z0-9_]+;$|enum \{)/)
        heading(".Ss " subject_of(text))
    if (is_function) {
        put_prototype(text)
        return
    }
    if (text ~ /^struct hf_[a-z0-9_]+;$/)
        return
    literal_begin("4n")
    lines_of_code = split(text, code, "\n")
    for (i = 1; i <= lines_of_code; i++)
        put_text(code[i])
    literal_end()
}

# ---- the header ----

BEGIN { is_first = is_fresh = 1 }

/^\/\*/ {
    flush_comment("")
    read_comment($0)
    was_empty = 0
    if (list)
        next
    if (is_first) {
        is_first = 0
        title = first_sentence()
        put_comment(1, 0)
    } else if (line[1] ~ /^---- /) {
        section(line[1])
    } else {
        put_mixed_comment()
    }
    next
}

# Other headers that belong to this one.
/^#include "/ { also = also "\n" page_of($2) }

is_noise($0) { was_empty = $0 == ""; next }

{
    if (!list || $0 ~ /^(HF_API|HF_MUST_CHECK|static inline)/)
        put_code($0)
    was_empty = 0
}

END {
    if (is_failed)
        exit 1
    if (list) {
        for (i = 1; i <= function_count; i++)
            print functions[i]
        exit
    }
    flush_comment("")
    print date "\n.Dt " toupper(page) " 3\n.Os\n.Sh NAME\n.Nm " page "\n.Nd " escape(title)
    print ".Sh SYNOPSIS\n.In " include
    for (i = 1; i <= prototypes; i++)
        print prototype[i]
    printf "%s%s", ".Sh DESCRIPTION\n", body
    print ".Sh SEE ALSO\n.Xr holdfast 3 ,"
    n = split(also, pages, "\n")
    for (i = 2; i <= n; i++)
        for (j = i; j > 2 && pages[j - 1] > pages[j]; j--) {
            s = pages[j]
            pages[j] = pages[j - 1]
            pages[j - 1] = s
        }
    for (i = 2; i <= n; i++)
        print ".Xr " pages[i] " 3 ,"
    print ".Xr holdfast-url 7"
}
