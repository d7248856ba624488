#!/bin/sh
# fetch.sh [NAME...]: unpacks servers of several Debian suites (none named: all)
# into build-servers/NAME/, where `server` and `cli` start them. Each brings its
# own libc and loader, so that nothing is installed and nothing clashes. What is
# unpacked already is kept; what cannot be fetched is skipped, and said so.
set -eu

# SUITE-PROGRAM.
all='bullseye-redis bookworm-redis bookworm-backports-redict
     bookworm-backports-valkey trixie-redis sid-redis trixie-valkey sid-valkey'

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
packages() {
    apt-get -c "$apt/conf" -s -t "$1" install "$2-server" |
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
    "\$here/usr/bin/$3" "\$@"
END
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
    for part in server cli; do
        wrapper "$loader" "${libraries##*/}" "$1-$part" >"$new/$part" &&
            chmod +x "$new/$part" || return 1
    done
}

# "Valkey 8.1.1", as it calls itself.
ask_version() {
    said=$("$new/server" --version) || return 1
    echo "$said" | sed -n 's/^\([^ ]*\) server v=\([^ ]*\).*/\1 \2/p' \
        >"$new/version"
    "$new/cli" --version && [ -s "$new/version" ]
}

# Says on standard error how it went, and on failure last of all, what failed.
fetch() {
    program=${1##*-} suite=${1%-*} new=$work/$1.new
    lists "$suite" || { echo "no package lists of $suite" >&2; return 1; }
    download "$suite" "$program" ||
        { echo "cannot download $program-server" >&2; return 1; }
    unpack "$program" || { echo "cannot unpack it" >&2; return 1; }
    ask_version || { echo "it does not run here" >&2; return 1; }
    mv "$new" "$cache/$1"
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
