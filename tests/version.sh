#!/bin/sh
# version.sh: the version is the same everywhere (mk/version.sh), each file that differs is noticed,
# and a new version is written into all of them.
set -eu
mk/version.sh --check

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "version: $*" >&2; exit 1; }
files='net/version.h CHANGELOG.md packages/debian/changelog packages/rpm/holdfast.spec
    packages/alpine/APKBUILD packages/arch/PKGBUILD'
for file in mk/version.sh $files; do
    mkdir -p "$(dirname "$dir/$file")"
    cp "$file" "$dir/$file"
done
cd "$dir"
git init -q . # no tag of the repository counts here
mk/version.sh 12.34.56
[ "$(grep -l '12\.34\.56' $files | wc -l)" -eq 6 ] || fail 'a file does not get the new version'
for file in $files; do
    cp "$file" saved
    sed -i 's/12\.34\.56/12.34.57/; s/MINOR 34/MINOR 35/' "$file"
    ! mk/version.sh --check 2>/dev/null || fail "it does not notice another version in $file"
    cp saved "$file"
done
! mk/version.sh 1.2 2>/dev/null || fail 'it accepts 1.2'
# A version that was released keeps its entries.
git add . && git -c user.name=x -c user.email=x@x commit -qm x && git tag v12.34.56
sed -i 's/(not released)/(2026-01-01)/' CHANGELOG.md
mk/version.sh 12.35.0
for file in CHANGELOG.md packages/debian/changelog packages/rpm/holdfast.spec; do
    grep -q '12\.34\.56' "$file" && grep -q '12\.35\.0' "$file" || fail "$file has lost an entry"
done
