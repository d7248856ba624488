#!/bin/sh
# version.sh --check: the version of net/version.h is that of CHANGELOG.md and of each recipe of
# packages/. version.sh X.Y.Z: writes it there, with today's date in the recipes; CHANGELOG.md gets
# the heading "X.Y.Z (not released)". Nothing is committed.
set -eu
version=$(awk '/^.define HF_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' net/version.h)
fail() { echo "version: $*" >&2; exit 1; }

if [ "${1:-}" = --check ]; then
    # FILE PATTERN: the first line with this beginning has the version.
    has() { grep -m 1 "$2" "$1" | grep -qF "$version" || fail "$1 does not begin with version $version"; }
    has CHANGELOG.md '^## '
    has packages/debian/changelog '^holdfast ('
    has packages/rpm/holdfast.spec '^Version:'
    sed -n '/^%changelog/,$p' packages/rpm/holdfast.spec | grep -m 1 '^\*' | grep -qF " - $version-" ||
        fail "the changelog of packages/rpm/holdfast.spec does not begin with version $version"
    has packages/alpine/APKBUILD '^pkgver='
    has packages/arch/PKGBUILD '^pkgver='
    has net/version.h 'The version as a text'
    exit
fi

new=${1:?usage: version.sh --check | X.Y.Z}
echo "$new" | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+' || fail "'$new' is not a version"
major=${new%%.*} patch=${new##*.}
minor=${new#*.} minor=${minor%.*}
sed -i "s/^\(#define HF_VERSION_MAJOR\) .*/\1 $major/; s/^\(#define HF_VERSION_MINOR\) .*/\1 $minor/
    s/^\(#define HF_VERSION_PATCH\) .*/\1 $patch/; s/\(The version as a text: \"\)[0-9.]*/\1$new/" net/version.h
# A heading that was not released is renamed; otherwise there is a new one.
if grep -m 1 '^## ' CHANGELOG.md | grep -q '(not released)'; then
    sed -i "0,/^## .*/s//## $new (not released)/" CHANGELOG.md
else
    sed -i "0,/^## /s//## $new (not released)\n\n## /" CHANGELOG.md
fi
maintainer='The holdfast authors <maintainers@holdfast.invalid>'
# deb and rpm: an entry of the former version stays if it was released.
{
    printf 'holdfast (%s-1) unstable; urgency=medium\n\n  * New version: see CHANGELOG.md.\n\n' "$new"
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S +0000')"
    if git rev-parse -q --verify "refs/tags/v$version" >/dev/null 2>&1; then
        echo
        cat packages/debian/changelog
    fi
} >packages/debian/changelog.new
mv packages/debian/changelog.new packages/debian/changelog
entry=$(printf '* %s %s - %s-1\\n- New version: see CHANGELOG.md' \
    "$(LC_ALL=C date -u '+%a %b %d %Y')" "$maintainer" "$new")
if git rev-parse -q --verify "refs/tags/v$version" >/dev/null 2>&1; then
    sed -i "s/^%changelog\$/%changelog\n$entry\n/" packages/rpm/holdfast.spec
else
    sed -i "/^%changelog\$/q" packages/rpm/holdfast.spec
    printf "$entry\n" >>packages/rpm/holdfast.spec
fi
sed -i "s/^Version: .*/Version:        $new/" packages/rpm/holdfast.spec
sed -i "s/^pkgver=.*/pkgver=$new/" packages/alpine/APKBUILD packages/arch/PKGBUILD
"$0" --check
