#!/bin/sh
# deps_users.sh: tests/deps.sh changes the machine for root, or with SUDO set; for
# anybody else it only says what is missing. The programs that it calls are
# scripts here; nothing is installed.
set -eu

deps=$(pwd)/tests/deps.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"

# fake NAME TEXT: a program with that text.
fake() { printf '#!/bin/sh\n%s\n' "$2" >"$dir/bin/$1"; chmod +x "$dir/bin/$1"; }
fake id "cat '$dir/uid'"
fake dpkg-query "exit 1"
fake apt-get "echo \"apt-get RUNLEVEL=\$RUNLEVEL \$DEBIAN_FRONTEND\" >>'$dir/calls'"
fake update-rc.d "echo update-rc.d >>'$dir/calls'"
# As sudo does by default, it drops the environment.
fake sudo "echo sudo >>'$dir/calls'; [ \"\$1\" != -n ] || shift
    exec env -i PATH=\"\$PATH\" \"\$@\""

fail() { echo "deps_users: $*" >&2; cat "$dir/says" >&2; exit 1; }

# run UID SUDO: its exit code.
run() {
    echo "$1" >"$dir/uid"
    : >"$dir/calls"
    code=0
    PATH=$dir/bin:$PATH SUDO=$2 "$deps" deps-demo >"$dir/says" 2>&1 || code=$?
}

run 1000 ''
[ $code = 1 ] || fail "a user without SUDO: code $code"
[ ! -s "$dir/calls" ] || fail "a user without SUDO: $(cat "$dir/calls")"
grep -q 'apt-get install.* redis-server' "$dir/says" || fail 'no word of how'

run 1000 sudo
[ $code = 0 ] || fail "SUDO=sudo: code $code"
grep -q sudo "$dir/calls" || fail 'SUDO=sudo is not used'
grep -q apt-get "$dir/calls" || fail 'SUDO=sudo installs nothing'
! grep apt-get "$dir/calls" | grep -v 'RUNLEVEL=1 noninteractive' ||
    fail 'by sudo the installation would start the server'

run 0 ''
[ $code = 0 ] || fail "root: code $code"
grep -q apt-get "$dir/calls" || fail 'root installs nothing'
! grep apt-get "$dir/calls" | grep -v 'RUNLEVEL=1 noninteractive' ||
    fail 'for root the installation would start the server'
! grep -q sudo "$dir/calls" || fail 'root asks sudo'
grep -q 'installing: redis-server' "$dir/says" || fail 'root is not told'
