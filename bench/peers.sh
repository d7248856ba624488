#!/bin/sh
# peers.sh [BENCH]: puts the peers of this bench, or of all, into build-peers/; installs nothing.
# hiredis: Debian's newest (that of sid); without it the benches compare with the installed one.
# rueidislock, only for push: needs go.
set -eu

here=$PWD/build-peers

get_hiredis() {
    site=$(apt-get indextargets --format '$(SITE) $(RELEASE)' \
        'Created-By: Packages' | awk '$2 !~ /security/ { print $1; exit }')
    [ -n "$site" ] || return 0
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
    ) || echo "no newer hiredis can be fetched; the installed one is the peer" >&2
    rm -rf "$here/apt"
}

get_rueidislock() {
    mkdir -p "$here/rueidislock"
    cp bench/rueidislock.go "$here/rueidislock/main.go"
    (
        cd "$here/rueidislock"
        [ -e go.mod ] || go mod init rueidislock
        go get github.com/redis/rueidis@v1.0.79
        go build -o rueidislock .
    ) >"$here/rueidislock.log" 2>&1 ||
        echo "rueidislock cannot be fetched or built: $here/rueidislock.log" >&2
}

[ -e "$here/usr/include/hiredis/hiredis.h" ] || get_hiredis
case ${1:-push} in
push)
    [ "$here/rueidislock/rueidislock" -nt bench/rueidislock.go ] || ! command -v go >/dev/null ||
        get_rueidislock
    ;;
esac
