#!/bin/sh
# manuals.sh MAN3 HEADER...: the manual pages are written correctly (mandoc, if it is installed),
# and those of the library, in the folder MAN3, have each function, type and constant of the
# headers, each sentence of the functions' comments, and a page for the name of each function.
set -eu
man3=$1
shift
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "manuals: $*" >&2; exit 1; }

if command -v mandoc >/dev/null; then
    # The pages of other projects may not be installed here.
    mandoc -T lint -W warning docs/holdfast.1 docs/holdfast-url.7 tools/holdfast-resp.1 \
        "$man3"/holdfast*.3 >"$dir/lint" 2>&1 || :
    [ ! -s "$dir/lint" ] || { cat "$dir/lint" >&2; fail 'see above'; }
else
    echo 'skipped: the form of the manual pages: no mandoc'
fi

# words FILE: its words of letters and digits, one on each line.
words() { sed 's/\\e/\\/g; s/\\(dq/"/g' "$1" | grep -oE '[A-Za-z0-9_]+'; }

# lacking HEADER PAGE: the words of the header that its page does not have, except conditions,
# includes, and the bodies of functions.
lacking() {
    perl -0777 -pe 's/^(?:static inline|HF_MUST_CHECK)([^{;]*)\{.*?^\}/$1/gms;
        s/^#(?:ifndef|define) HF_[A-Z_]*_H$//gm; s/^#(?:include|if|endif|else|elif).*//gm;
        s/^extern "C".*//gm; s/HF_API( extern)?|HF_MUST_CHECK|static inline//g; s/^struct hf_[a-z_]+;$//gm' \
        "$1" >"$dir/header"
    words "$dir/header" | sort | uniq -c | awk '{ print $2, $1 }' >"$dir/wanted"
    words "$2" | sort | uniq -c | awk '{ print $2, $1 }' >"$dir/has"
    awk 'NR == FNR { has[$1] = $2; next }
        has[$1] + has[toupper($1)] + has[toupper(substr($1, 1, 1)) substr($1, 2)] == 0 { print $1 }' \
        "$dir/has" "$dir/wanted"
}

for name in $("$here/../mk/man3.sh" --names "$@"); do
    [ -s "$man3/$name" ] || fail "there is no page $name"
done
[ "$(ls "$man3" | wc -l)" -eq "$("$here/../mk/man3.sh" --names "$@" | sort -u | wc -l)" ] ||
    fail "$man3 has pages that no header needs"
for link in "$man3"/hf_*.3; do
    function=${link##*/}
    read -r macro to <"$link"
    [ "$macro" = .so ] && grep -q "^\.Fo ${function%.3}$" "$man3/${to#man3/}" ||
        fail "$link does not lead to a page with this function"
done
for header; do
    [ "$header" != holdfast.h ] || continue
    name=${header##*/}
    lacks=$(lacking "$header" "$man3/holdfast-${name%.h}.3" | tr '\n' ' ')
    [ -z "$lacks" ] || fail "the page of $header lacks: $lacks"
    grep -q "Xr holdfast-${name%.h} 3" "$man3/holdfast.3" || fail "holdfast.3 lacks $header"
done

# Does it notice a word that a page lacks?
sed 's/clock/clod/g' "$man3/holdfast-net.3" >"$dir/page"
lacking net/net.h "$dir/page" | grep -qx clock || fail 'it does not notice a word that is lacking'
