#!/bin/sh
# acl.sh [--write] HOLDFAST: the rules of docs/permissions.md are those that `holdfast doctor
# --acl` prints, and test_lock_acl proves that they suffice. --write replaces the page's block
# by them.
set -eu

write=
[ "$1" != --write ] || { write=yes; shift; }
holdfast=$1 page=docs/permissions.md
begin='<!-- acl: made by tests/acl.sh --write -->' end='<!-- acl: end -->'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# rule OPTION...: the first command; no server is there, so none decides its form.
rule() {
    "$holdfast" doctor --acl -q -u redis://127.0.0.1:1 "$@" 2>/dev/null | sed -n 1p
}

# more USE SIGN: the words with that sign that the use adds, in backquotes.
more() {
    rule --name NAME | tr ' ' '\n' | tr -d '"' >"$dir/plain"
    rule --name NAME --for "$1" | tr ' ' '\n' | tr -d '"' |
        grep -vxFf "$dir/plain" | grep "^$2" | tr '\n' ' ' |
        sed 's/ $//; s/..*/`&`/' || true
}

block() {
    echo "$begin"
    echo
    rule | sed 's/PASSWORD resetkeys/secret/' | fold -s -w 80 | sed '1!s/^/    /; s/^/    /; s/ $//'
    echo
    echo '| `--for` | commands to add | keys to add to a rule for one lock | channels to add |'
    echo '| --- | --- | --- | --- |'
    for use in fair shared fenced retention value permits semaphore latch label ls; do
        echo "| $use | $(more $use +) | $(more $use '~') | $(more $use '&') |"
    done
    echo
    echo "$end"
}

block >"$dir/block"
awk -v begin="$begin" -v end="$end" -v file="$dir/block" '
    $0 == begin { while ((getline line < file) > 0) print line; inside = 1 }
    !inside { print }
    $0 == end { inside = 0 }' "$page" >"$dir/page"
grep -qF "$begin" "$dir/page" || { echo "$page has no block '$begin'" >&2; exit 1; }
if [ "$write" ]; then
    cat "$dir/page" >"$page"
elif ! diff -u "$page" "$dir/page" >&2; then
    echo "$page: the rules differ from doctor --acl: tests/acl.sh --write $holdfast" >&2
    exit 1
fi
