#!/bin/sh
# release.sh BUILD MAKE...: everything that must be true of a release, in the order of
# docs/releasing.md; then what a person does. It changes nothing and publishes nothing.
# REHEARSAL=yes: before the date of the release is in CHANGELOG.md.
set -eu
build=$1
shift
fail() { echo "release: NOT SO: $*" >&2; exit 1; }
step() { echo "== $*"; }

step 'the tree is committed'
[ -z "$(git status --porcelain)" ] || { git status --short >&2; fail 'there are changes that are not committed'; }

step 'the version is the same everywhere'
mk/version.sh --check
version=$(grep -m 1 '^## ' CHANGELOG.md | sed 's/^## \([0-9.]*\).*/\1/')
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "the tag v$version exists"
heading=$(grep -m 1 '^## ' CHANGELOG.md)
if [ "${REHEARSAL:-}" = yes ]; then
    echo "a rehearsal: '$heading'"
else
    echo "$heading" | grep -Eqx '## [0-9.]+ \([0-9]{4}-[0-9]{2}-[0-9]{2}\)' ||
        fail "CHANGELOG.md begins with '$heading', and not with '## $version (YYYY-MM-DD)'"
fi

step 'a reader can reach the maintainers'
# The domain .invalid receives no mail (RFC 2606).
if placeholders=$(git grep -lE '[a-z]@[a-z.-]*\.invalid|https?://[a-z.-]*\.invalid' -- packages SECURITY.md mk); then
    echo "addresses that do not exist, in:" $placeholders
    [ "${REHEARSAL:-}" = yes ] || fail 'replace them first, also in SECURITY.md'
fi

step 'the interface is the recorded one, for compiled programs too'
"$@" -s exports abi-check

step 'the documents are right'
"$@" -s docs-check sources words pages-check html

step 'the tarball: the same bytes twice, it builds, its tests pass, it installs'
"$@" -s distcheck
tarball=$build/holdfast-$version.tar.gz

step 'the tarball on bare roots: the commands of the documents, the packages, the bindings'
if [ "$(id -u)" = 0 ]; then
    "$@" -s packages-check
else
    echo 'skipped: as root, make packages-check'
fi

step 'what a person does now'
cat <<TEXT
The gate (.ci/run) and a night of make nightly must be green for this commit:
    $(git rev-parse HEAD)
The tarball is $tarball:
    $(sha256sum "$tarball" | cut -d ' ' -f 1)
Then sign, and publish:
    git tag -s v$version -m 'holdfast $version'
    gpg --armor --detach-sign $tarball
TEXT
[ "${REHEARSAL:-}" = yes ] && echo 'But this was a rehearsal.' || :
