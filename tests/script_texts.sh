#!/bin/sh
# script_texts.sh            fails if a script returns a text that another program may
#                            have written and that is not cut to 191 bytes
# script_texts.sh FILE...    the same, for these scripts
#
# A returned value is accepted if it is: a literal; an argument or a key; a number (a
# length, an arithmetic result, tonumber, math.*, the reply to a command of which all
# replies are numbers); a text with :sub(1, 191) behind it; a table of such values; a
# name to which only such values are assigned; an error that the script caught. What a
# local function returns counts where the script returns it.
set -eu

[ $# -gt 0 ] || set -- lock/script/lua/*.lua

for script; do
    # What the build inserts at "--+ NAME" is checked with the script.
    while IFS= read -r line; do
        case $line in
        *--+\ *) cat "lock/script/lua/${line##*--+ }.lua" ;;
        *) printf '%s\n' "$line" ;;
        esac
    done <"$script" | awk -v script="$script" '
    function trim(s) { sub(/^[ \n]+/, "", s); sub(/[ \n]+$/, "", s); return s }

    # The length of the bracketed or quoted piece that begins at s[at], else 1.
    function piece(s, at,    c, depth, i) {
        c = substr(s, at, 1)
        if (c == "\x27") {
            i = index(substr(s, at + 1), "\x27")
            return i + 1
        }
        if (c !~ /[({[]/)
            return 1
        for (i = at; i <= length(s); i++) {
            c = substr(s, i, 1)
            if (c == "\x27")
                i += piece(s, i) - 1
            else if (c ~ /[({[]/)
                depth++
            else if (c ~ /[)}\]]/ && --depth == 0)
                return i - at + 1
        }
        return length(s) - at + 1
    }

    # Splits at a separator outside of brackets and texts; `word`: only as a word.
    function split_at(s, sep, part, word,    i, n, from) {
        n = 0
        from = 1
        for (i = 1; i <= length(s); ) {
            if (substr(s, i, length(sep)) == sep &&
                (!word || (substr(s, i - 1, 1) ~ /[ \n)]/ &&
                           substr(s, i + length(sep), 1) ~ /[ \n(]/))) {
                part[++n] = trim(substr(s, from, i - from))
                i += length(sep)
                from = i
            } else
                i += piece(s, i)
        }
        part[++n] = trim(substr(s, from))
        return n
    }

    # Does the expression have this operator outside of brackets and texts?
    function has(s, pattern,    i, bare) {
        bare = ""
        for (i = 1; i <= length(s); i += piece(s, i))
            bare = bare (piece(s, i) == 1 ? substr(s, i, 1) : "_")
        return bare ~ pattern
    }

    function all_are_safe(s, sep,    part, n, i) {
        n = split_at(s, sep, part, 0)
        for (i = 1; i <= n; i++)
            if (part[i] != "" && !is_safe(part[i]))
                return 0
        return 1
    }

    # "a and b or c" is b or c, or false.
    function alternatives_are_safe(s,    part, rest, n, m, i) {
        n = split_at(s, "or", part, 1)
        for (i = 1; i <= n; i++) {
            m = split_at(part[i], "and", rest, 1)
            if (!is_safe(rest[m]))
                return 0
        }
        return 1
    }

    function name_is_safe(name,    i, ok) {
        if (name in busy)
            return 1
        if (!(name in values))
            return 0
        busy[name] = 1
        ok = 1
        for (i = 1; ok && i <= values[name]; i++)
            ok = is_safe(value[name, i])
        delete busy[name]
        return ok
    }

    # A function may return a text to the script, which then may not return it.
    function function_is_safe(name,    i, ok) {
        if (!(name in functions))
            return 0
        if (name in asked)
            return 1
        asked[name] = 1
        ok = 1
        for (i = 1; ok && i <= results[name]; i++)
            ok = all_are_safe(result[name, i], ",")
        delete asked[name]
        return ok
    }

    # By how much a statement opens more blocks than it closes.
    function nesting(s,    word, n, i, depth) {
        gsub(/\x27[^\x27]*\x27/, " ", s)
        gsub(/[^A-Za-z0-9_]+/, " ", s)
        n = split(s, word, " ")
        depth = 0
        for (i = 1; i <= n; i++)
            if (word[i] ~ /^(function|if|for|while|repeat)$/)
                depth++
            else if (word[i] ~ /^(end|until)$/)
                depth--
        return depth
    }

    # What a statement returns, "" if nothing, or an error that was caught.
    function returned(s, before,    value) {
        if (!match(s, /(^|[ \n])return /))
            return ""
        returns++
        before = before substr(s, 1, RSTART - 1)
        value = substr(s, RSTART + RLENGTH)
        sub(/ end\)?.*$/, "", value)
        return is_error(value, before) ? "" : value
    }

    function is_safe(s) {
        s = trim(s)
        if (s ~ /^\(/ && piece(s, 1) == length(s))
            return is_safe(substr(s, 2, length(s) - 2))
        if (has(s, "[ \n)](or|and)[ \n(]"))
            return alternatives_are_safe(s)
        if (s ~ /^{/ && piece(s, 1) == length(s))
            return all_are_safe(substr(s, 2, length(s) - 2), ",")
        if (has(s, "(==|~=|<|>)") || s ~ /^not /)
            return 1
        if (has(s, "\\.\\."))
            return 0
        if (s ~ /:sub\(1, 191\)$/)
            return 1
        if (has(s, "[-+*\/%^]") || s ~ /^#/)
            return 1
        if (s ~ /^([0-9.]+|nil|true|false)$/ || s ~ /^\x27[^\x27]*\x27$/)
            return 1
        if (s ~ /^(ARGV|KEYS)\[[^]]*\]$/)
            return 1
        if (s ~ /^(tonumber|math\.[a-z]+|redis\.error_reply|string\.char)\(/)
            return 1
        if (s ~ /:find\(/)
            return 1
        if (s ~ /^redis\.p?call\(/)
            return s ~ numbers || s ~ /^redis\.p?call\(ARGV\[/ # PUBLISH
        if (s ~ /^[a-z_]+\(.*\)$/)
            return function_is_safe(substr(s, 1, index(s, "(") - 1))
        if (s ~ /^[a-z_]+$/)
            return name_is_safe(s)
        return 0
    }

    function assign(name, s) {
        sub(/\[.*/, "", name)
        values[name]++
        value[name, values[name]] = s
    }

    # "local a, b = x, y": a call may give the rest of the names their values.
    function take_assignment(s,    at, names, part, n, m, i) {
        sub(/^local /, "", s)
        at = index(s, " = ")
        n = split_at(substr(s, 1, at - 1), ",", names, 0)
        m = split_at(substr(s, at + 3), ",", part, 0)
        for (i = 1; i <= n; i++)
            assign(names[i], part[i < m ? i : m])
    }

    # A caught error: "if ... x.err ... then return x".
    function is_error(s, before,    at) {
        at = match(before, /(if|elseif)[^\n]*(\n[^\n]*)?then[ \n]*$/)
        return s ~ /^[a-z_]+$/ && at &&
               (index(substr(before, at), s ".err") ||
                index(substr(before, at), "type(" s ") == \x27table\x27"))
    }

    BEGIN {
        numbers = "^redis\\.p?call\\(\x27(pttl|exists|hexists|hlen|llen|strlen|" \
                  "hstrlen|zcard|zcount|incr|incrby|decr|decrby|pexpire|hset|hdel|" \
                  "zadd|zrem|del|unlink|set|publish|spublish)\x27"
    }
    {
        sub(/^ *--.*/, "")
        sub(/ -- .*/, "")
        line = trim($0)
        if (line == "")
            next
        text = text line "\n"
    }
    END {
        # A statement that goes on has an open bracket, or an operator at the end or
        # at the beginning of the next line.
        n = split(text, lines, "\n")
        for (i = 1; i <= n; i++) {
            statement = lines[i]
            first = i
            while (i < n && (statement ~ /([(,{=]|and|or|\.\.)$/ ||
                             lines[i + 1] ~ /^(and|or|\.\.|[)}]) / ||
                             opens(statement) > 0))
                statement = statement "\n" lines[++i]
            all[++count] = statement
        }
        for (i = 1; i <= count; i++) {
            s = all[i]
            if (s ~ /^local function [a-z_]+/) {
                split(s, word, /[ (]/)
                functions[word[3]] = 1
                if (inside == "") {
                    inside = word[3]
                    outer = depth
                }
            } else if (s ~ /^(local )?[a-z_]+(\[[^]]*\])?(, [a-z_]+)* = /)
                take_assignment(s)
            s = returned(s, before)
            if (s != "" && inside != "")
                result[inside, ++results[inside]] = s
            else if (s != "")
                top[++tops] = s
            before = before all[i] "\n"
            depth += nesting(all[i])
            if (inside != "" && depth <= outer)
                inside = ""
        }
        for (i = 1; i <= tops; i++)
            if (!all_are_safe(top[i], ",")) {
                gsub(/\n */, " ", top[i])
                print script ": returns a text that is not cut: " top[i]
                bad = 1
            }
        if (!returns && script !~ /(token|permit_id|short_number)\.lua$/) {
            print script ": nothing is returned"
            bad = 1
        }
        exit bad
    }
    function opens(s,    i, c, depth) {
        depth = 0
        for (i = 1; i <= length(s); i++) {
            c = substr(s, i, 1)
            if (c == "\x27")
                i += piece(s, i) - 1
            else if (c ~ /[({[]/)
                depth++
            else if (c ~ /[)}\]]/)
                depth--
        }
        return depth
    }' >&2 || bad=1
done
exit "${bad-0}"
