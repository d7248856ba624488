#!/bin/sh
# script_keys.sh            fails if a script calls a command in a form that strict
#                           proxies refuse: its name is one literal, and its key is
#                           KEYS[...] with a number, a name or #KEYS in the brackets
# script_keys.sh FILE...    the same, for these scripts
#
# Alibaba Cloud's proxies check the text of a script so.
set -eu

[ $# -gt 0 ] || set -- lock/script/lua/*.lua

for script; do
    sed '/^ *--/d' "$script" | tr '\n' ' ' |
        grep -oE 'redis\.p?call\([^,)]*(, *[^,)]*)?' |
        grep -vE "\('(time|publish|spublish)'" |
        grep -vE "\('[a-z]+', *KEYS\[#?[A-Za-z0-9]+\]\$" |
        sed -E "s|redis\.p?call\(||; s|  +| |g; s|^|${script##*/} |" || :
done | sort -u >"${TMPDIR:-/tmp}/script_keys.$$"
trap 'rm -f "${TMPDIR:-/tmp}/script_keys.$$"' EXIT
if [ -s "${TMPDIR:-/tmp}/script_keys.$$" ]; then
    cat "${TMPDIR:-/tmp}/script_keys.$$" >&2
    echo "script_keys: a command's name is not a literal, or its key is not KEYS[...]" >&2
    exit 1
fi
