#!/bin/sh
# peers.sh: unpacks Debian's newest hiredis (that of sid) into build-peers/,
# installs nothing. Without it the benches compare with the installed one.
set -eu

here=$PWD/build-peers
[ ! -e "$here/usr/include/hiredis/hiredis.h" ] || exit 0
site=$(apt-get indextargets --format '$(SITE) $(RELEASE)' \
    'Created-By: Packages' | awk '$2 !~ /security/ { print $1; exit }')
[ -n "$site" ] || exit 0

mkdir -p "$here/apt/lists/partial" "$here/apt/archives/partial"
: >"$here/apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
    "$site sid main" >"$here/apt/sources.list"
cat >"$here/apt/conf" <<END
Dir::State "$here/apt";
Dir::State::status "$here/apt/status";
Dir::Cache "$here/apt";
Dir::Etc::SourceList "$here/apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Sandbox::User "root";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
(
    cd "$here/apt"
    apt-get -c conf -qq update && apt-get -c conf -qq download libhiredis-dev &&
        dpkg -x libhiredis-dev_*.deb "$here"
) || echo "no newer hiredis is to be had; the installed one is the peer" >&2
rm -rf "$here/apt"
