#!/bin/sh
# Turns Lua files into C: embed.sh FILE.lua... > scripts.c
#                         embed.sh --names FILE.lua... > script_names.h
# A line "--+ NAME" stands for NAME.lua beside it. Other comment lines, and
# indentation, are left out of what is sent. `commands` are what a script calls;
# those of token.lua, which needs rights that only fenced locks have, are apart.
set -eu

# commands FILE...: the commands that they call, each once. A command that is an
# argument of the script is PUBLISH (in a cluster SPUBLISH).
commands() {
    sed '/^ *--/d' "$@" | tr '\n' ' ' | grep -oE 'redis\.p?call\([^,)]*' |
        sed -E "s/.*\(//; /'/!s/.*/'publish'/" | grep -oE "'[a-z]+'" |
        tr -d "'" | sed 's|^spublish$|publish|' | sort -u | paste -s -d ' ' -
}

echo '/* Made from lock/script/lua/ by embed.sh. */'
if [ "$1" = --names ]; then
    shift
    for file; do
        echo "extern const struct hf_script hf_script_$(basename "$file" .lua);"
    done
    exit
fi
echo '#include "lock/script/scripts.h"'
printf '\nconst char hf_token_commands[] = "%s";\n' \
    "$(commands "$(dirname "$1")/token.lua")"
echo '#ifdef __GNUC__'
echo '#pragma GCC diagnostic ignored "-Woverlength-strings"'
echo '#endif'
for file; do
    name=$(basename "$file" .lua)
    text=$(awk -v folder="${file%/*}" '
        $1 == "--+" { part = folder "/" $2 ".lua"
                      while ((getline line < part) > 0) print line
                      close(part); next }
        { print }' "$file" |
        sed -e '/^ *--/d' -e 's/^ *//')
    title=$(printf '%s\n' "$name" | sed -E \
        -e 's/^(count|fair|latch|permit|read|rw|semaphore|value|write)_//' \
        -e 's/^force_release$/forced release/' -e 's/^extend$/renew/' \
        -e 's/_/ /g')
    sha=$(printf '%s\n' "$text" | sha1sum | cut -c1-40)
    # An array has a section of its own, which a program that does not use it is linked without.
    printf '\nstatic const char %s_text[] =\n' "$name"
    printf '%s\n' "$text" | sed -e 's/[\\"]/\\&/g' -e 's/.*/    "&\\n"/' -e '$s/$/;/'
    printf 'const struct hf_script hf_script_%s = {\n    "%s", "%s", "%s",\n    %s_text' \
        "$name" "$name" "$title" "$sha" "$name"
    parts=$(sed -n "s|^ *--+ \([a-z_]*\).*|${file%/*}/\1.lua|p" "$file" |
        grep -v '/token\.lua$' || :)
    printf ', %s, "%s"\n};\n' "$(printf '%s\n' "$text" | wc -c)" \
        "$(commands "$file" $parts)"
done
