#!/bin/sh
# sources.sh [TREE]: what comments and documents cite exists.
#
#   files      with or without a folder, and by a pattern (multi*.c); links, with their sections
#   tests      test_net_conn
#   rules      WAIT-4, and the rules of RESP: rules D3, D4
#   sections   WIRE 8.1, design 6, faults X7: docs/sources.md and docs/faults.md; a quoted title
#              needs a short name of docs/sources.md before it; net.h "links"
#   functions  names that begin with hf_ or HF_
#   targets    `make NAME`
#
# tests/sources.txt lists the names of other projects. CHANGELOG.md is not searched, because it
# names what was removed.
set -eu
here=$(dirname "$0")

found=$(perl "$here/sources.pl" "${1:-.}")
[ -z "$found" ] || { echo "$found" >&2; exit 1; }

# Does it notice each kind, and nothing else?
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/net" "$dir/docs" "$dir/tests/vectors" "$dir/mk"
printf 'check bench-%%: deps\n\t@true\n' >"$dir/mk/all.mk"
echo 'A1 | a rule | test' >"$dir/tests/vectors/rules.txt"
echo '| X1 | a fault | | why |' >"$dir/docs/faults.md"
printf '# Other\nSHA\nnothing.c\n' >"$dir/tests/sources.txt"
touch "$dir/tests/test_good.c" "$dir/docs/resp-check.md"
cat >"$dir/docs/sources.md" <<'PAGE'
| `RESP` | a specification |
## WIRE
2. Names (2.1).
## design
- 4: Requests.
PAGE
cat >"$dir/net/good.h" <<'PAGE'
/* hf_good - see docs/sources.md, good.h, go*.h, test_good.c and test_good (GOOD-1, SHA-1).
 *
 * GOOD-1  A rule.
 * Sources: WIRE 2.1, 2; design 4; faults X1; rules A1; RESP "Strings"; good.h "a rule". */
void hf_good(void);
const char *text = "net/none.c"; /* `make check`, make bench-net */
PAGE
printf '# The Page\n[a](#the-page), [b](sources.md#wire), nothing.c, `make bench-net`\n' \
    >"$dir/docs/page.md"
[ -z "$(perl "$here/sources.pl" "$dir")" ] || {
    echo "sources.sh: it refuses citations that are right:" >&2
    perl "$here/sources.pl" "$dir" >&2
    exit 1
}

cat >"$dir/net/bad.h" <<'PAGE'
/* docs/none.md
 * none.c
 * no*.h
 * net/none
 * test_none
 * GOOD-2
 * NONE-1
 * rules A1, A2
 * WIRE 2.1, 2.2
 * WIRE 2.1,
 * 3
 * design 5
 * faults X2
 * NONE "Strings"
 * good.h "another rule"
 * hf_none
 * HF_E_NONE
 * `make none` */
PAGE
cat >"$dir/docs/bad.md" <<'PAGE'
[a](none.md)
[b](#none)
[c](page.md#none)
PAGE
echo 'other.c' >>"$dir/tests/sources.txt"
perl "$here/sources.pl" "$dir" | cut -d: -f1,2 | sort -u >"$dir/noticed"
{ seq 18 | grep -v '^11$' | sed 's|^|net/bad.h:|'; seq 3 | sed 's|^|docs/bad.md:|'
  echo tests/sources.txt:0; } | sort >"$dir/planted"
cmp -s "$dir/planted" "$dir/noticed" || {
    echo "sources.sh: planted faults that it does not notice (<), and others (>):" >&2
    diff "$dir/planted" "$dir/noticed" >&2
    exit 1
}
