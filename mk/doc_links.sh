#!/bin/sh
# doc_links.sh ROOT DOCDIR INCLUDEDIR: mends the links of the documents that were installed to
# ROOT/DOCDIR. A link to an installed header leads to INCLUDEDIR; of a link to a file that is
# not installed, such as a test, the text remains.
set -eu
awk=$PWD/mk/doc_links.awk
cd "$1$2"
for page in *.md docs/*.md; do
    awk -v root="$1" -v docs="$2" -v headers="$3/holdfast" -v page="$page" -f "$awk" "$page" >.page
    cat .page >"$page"
done
rm -f .page
