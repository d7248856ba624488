#!/bin/sh
# bare_inside.sh: what tests/bare.sh runs in the root: as root what an administrator does, as the user
# `guest` what a user does. Each step installs only the packages that the documents name for it.
set -eu

fail() { echo "bare: NOT SO: $*"; exit 1; }
step() { echo "== $*"; }
needs() { apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
# as_guest COMMAND: in the unpacked tree. Each line that fails ends it; of `a && b`, only b does.
as_guest() { su guest -s /bin/sh -c "set -e; cd $tree; $1"; }

apt-get update -qq
adduser --disabled-password --gecos '' guest >/dev/null
cp /root/holdfast-*.tar.gz /home/guest
su guest -s /bin/sh -c 'cd && tar -xzf holdfast-*.tar.gz'
tree=$(echo /home/guest/holdfast-*/)

step 'README, Try it, as a user: the packages that are missing are named'
needs make gcc libc6-dev
as_guest "make -j$JOBS demo" >/tmp/log 2>&1 && fail 'the demo runs without a server'
grep -q 'apt-get install redis-server' /tmp/log || { cat /tmp/log; fail 'redis-server is not named'; }

step 'README, Try it, as root: the server is installed'
cp -r "$tree" /root/tree
(cd /root/tree && make -j"$JOBS" demo) >/tmp/log 2>&1 || { tail -n 40 /tmp/log; fail 'make demo'; }
rm -rf /root/tree
as_guest "make demo" >/tmp/log 2>&1 || { tail -n 40 /tmp/log; fail 'make demo as a user'; }

step 'README, Install: without OpenSSL, then with it'
as_guest 'build/holdfast version' | grep -q 'TLS: no' || fail 'a build without OpenSSL has TLS'
needs libssl-dev
as_guest "make -j$JOBS" >/tmp/log 2>&1 || { tail -n 40 /tmp/log; fail make; }
as_guest 'build/holdfast version' | grep -q 'TLS: OpenSSL' || fail 'a build with OpenSSL has no TLS'
(cd "$tree" && make install PREFIX=/usr/local) >/tmp/log 2>&1 || { tail -n 40 /tmp/log; fail 'make install'; }
[ "$(find "$tree" -user root | wc -l)" -eq 0 ] || fail 'make install leaves files of root in the tree'
su guest -s /bin/sh -c 'holdfast version' >/dev/null || fail 'the installed command does not start'

step 'README, The library: pkg-config, shared and static, C++'
needs pkg-config g++
[ "$(sed -n 's/^VERSION_ID="\(.*\)"/\1/p' /etc/os-release)" -lt 13 ] || needs zlib1g-dev libzstd-dev
redis-server --port 6379 --bind 127.0.0.1 --save '' --daemonize yes --dir /tmp >/dev/null
until holdfast status x >/dev/null 2>&1 || [ $? -eq 1 ]; do sleep 0.1; done
as_guest 'awk "/^\`\`\`c\$/ { on = 1; next } /^\`\`\`\$/ { if (on) exit } on" README.md >../example.c
    awk "/^\`\`\`cpp\$/ { on = 1; next } /^\`\`\`\$/ { if (on) exit } on" README.md >../example.cc
    cd ..
    cc example.c $(pkg-config --cflags --libs holdfast)
    ./a.out | grep mine
    cc -static -o static example.c $(pkg-config --cflags --libs --static holdfast)
    ./static | grep mine
    g++ -std=c++17 -o cxx example.cc $(pkg-config --cflags --libs holdfast)
    ./cxx | grep mine'

step 'docs/install.md: a static command'
as_guest "make -j$JOBS LDFLAGS=-static BUILD=../static-build ../static-build/holdfast" >/tmp/log 2>&1 ||
    { tail -n 40 /tmp/log; fail 'make LDFLAGS=-static'; }
as_guest '../static-build/holdfast version' | grep -q 'TLS: OpenSSL' || fail 'a static command has no TLS'
as_guest '! ldd ../static-build/holdfast' || fail 'the static command needs shared libraries'

step 'README and the guide: the commands, with the installed holdfast'
as_guest 'make pages-check' >/tmp/log 2>&1 || { tail -n 40 /tmp/log; fail 'make pages-check'; }
grep '^pages:' /tmp/log

step 'CMake: find_package'
needs cmake
as_guest 'mkdir -p ../cmake && cp ../example.c ../cmake && cd ../cmake && cat >CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.13)
project(example C)
find_package(holdfast REQUIRED)
add_executable(example example.c)
target_link_libraries(example holdfast::holdfast)
CMAKE
    cmake -S . -B b >/dev/null && cmake --build b >/dev/null && b/example | grep mine'

step 'two files: the amalgamation'
needs perl
as_guest 'make amalgamation AMALGAMATION=/home/guest/two >/dev/null && cd ../two &&
    sed "s|<holdfast/holdfast.h>|\"holdfast.h\"|" ../example.c >main.c &&
    cc -std=c11 -O2 -pthread -c holdfast.c && cc main.c holdfast.o -pthread && ./a.out | grep mine'

step 'Python'
if [ -e "$tree/bindings/python" ]; then
    needs python3-dev python3-cffi python3-pip python3-setuptools python3-wheel
    as_guest 'pip install --quiet --no-build-isolation --no-deps --no-index --target ../python bindings/python &&
        PYTHONPATH=../python python3 -c "
import holdfast
with holdfast.Client(\"redis://127.0.0.1:6379\").lock(\"bare\", timeout=10):
    print(\"mine\")"'
fi

step 'the documents as HTML'
needs mandoc pandoc
as_guest 'make html'

step 'make uninstall'
(cd "$tree" && make uninstall PREFIX=/usr/local) >/dev/null
left=$(find /usr/local -iname '*holdfast*' -o -name '*hf_*')
[ -z "$left" ] || fail 'files are left:' $left

step 'packages: Debian, RPM and Arch are built, and their unit tests pass'
needs dpkg-dev lintian fakeroot rpm makepkg pacman-package-manager libarchive-tools
# What debian/control names, and nothing else: it must be enough.
mkdir /tmp/source
cp -r "$tree/packages/debian" /tmp/source/debian
apt-get build-dep -y -qq --no-install-recommends /tmp/source >/dev/null
version=$(sed -n 's/^## \([0-9.]*\).*/\1/p' "$tree/CHANGELOG.md" | head -n 1)
as_guest "CHECK=yes tests/packages.sh build /home/guest/holdfast-$version.tar.gz $version" >/tmp/log 2>&1 ||
    { tail -n 60 /tmp/log; fail packages; }
cat /tmp/log

step 'packages: Debian is installed, and its autopkgtest passes'
needs autopkgtest
debs=$(find "$tree/build/packages/debian" -maxdepth 1 -name '*.deb' ! -name '*dbgsym*')
# shellcheck disable=SC2086 # words
needs $debs
# 2: a test was skipped, 4: failed; here each must pass.
# shellcheck disable=SC2086 # words
autopkgtest --user=guest $debs "$tree"/build/packages/debian/*.dsc -- null >/tmp/log 2>&1 ||
    { tail -n 60 /tmp/log; fail autopkgtest; }
sed -n '/ summary$/,$p' /tmp/log
# A minimal root leaves manual pages out of what it installs, or has no man.
for page in man1/holdfast.1 man3/hf_lock_acquire.3 man7/holdfast-url.7; do
    dpkg -L holdfast libholdfast-dev | grep -q "/usr/share/man/$page" || fail "no package has $page"
done
apt-get purge -y -qq holdfast libholdfast-dev libholdfast0 >/dev/null
[ -z "$(find / -xdev -name '*holdfast*' ! -path '/home/*' ! -path '/root/*' ! -path '/proc/*' ! -path '/tmp/*')" ] ||
    fail 'the packages leave files'
redis-cli shutdown nosave || :
step done
