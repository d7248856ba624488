#!/bin/sh
# packages.sh BUILD TARBALL VERSION: builds the packages that the tools of this machine can build,
# from the tarball of `make dist`, in BUILD/packages: Debian's with lintian, its tests run on the
# files that the packages contain; RPM's; Arch's; Conan's. It names what is skipped. CHECK=yes: the unit tests
# run in each build, and the packages that Debian's build needs must be installed.
set -eu

out=$1/packages
tarball=$2
version=$3
root=$(pwd)
fail() { echo "packages: NOT SO: $*" >&2; exit 1; }

mk/version.sh --check

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)

# run WORDS...: quiet, unless it fails.
run() { "$@" >"$out/log" 2>&1 || { tail -n 40 "$out/log" >&2; fail "$*"; }; }

# ---- Debian ----

# What autopkgtest runs, with the packages unpacked instead of installed.
debian_tests() {
    files=$out/debian/files
    mkdir "$files"
    for package in "$out"/debian/*.deb; do
        dpkg-deb -x "$package" "$files"
    done
    multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
    for test in demo compile; do
        sed "s|/usr/share/doc|$files&|; s|/usr/bin|$files&|" packages/debian/tests/$test \
            >"$out/debian/$test"
        PATH=$files/usr/bin:$PATH LD_LIBRARY_PATH=$files/usr/lib/$multiarch \
            PKG_CONFIG_LIBDIR=$files/usr/lib/$multiarch/pkgconfig:/usr/lib/$multiarch/pkgconfig \
            PKG_CONFIG_SYSROOT_DIR=$files \
            run sh "$out/debian/$test"
        echo "packages: Debian: its test '$test' passes"
    done
}

debian() {
    for tool in dpkg-buildpackage dh; do
        command -v $tool >/dev/null || {
            echo "skipped: Debian packages ($tool is not installed: debhelper)"
            return
        }
    done
    mkdir "$out/debian"
    cp "$tarball" "$out/debian/holdfast_$version.orig.tar.gz"
    tar -xzf "$tarball" -C "$out/debian"
    cp -R packages/debian "$out/debian/holdfast-$version/debian"
    cd "$out/debian/holdfast-$version"
    unset BUILD MAKEFLAGS MFLAGS MAKELEVEL
    # Without CHECK, the tests are those of make check, and what they need may be missing here.
    if [ "${CHECK:-}" = yes ]; then
        run env DEB_BUILD_OPTIONS=parallel=2 dpkg-buildpackage -us -uc
    else
        run env DEB_BUILD_OPTIONS="nocheck parallel=2" dpkg-buildpackage -us -uc -d
    fi
    cd "$root"
    echo "packages: Debian:" "$out"/debian/*.deb
    if command -v lintian >/dev/null; then
        # Who uploads it to Debian closes a bug with it.
        run lintian --allow-root --fail-on error,warning \
            --suppress-tags initial-upload-closes-no-bugs "$out"/debian/*.changes
        echo 'packages: Debian: lintian reports no error and no warning'
    else
        echo 'skipped: lintian (not installed)'
    fi
    if command -v redis-server >/dev/null; then
        debian_tests
    else
        echo 'skipped: the tests of Debian packages (redis-server is not installed)'
    fi
}

# ---- RPM ----

rpm_packages() {
    command -v rpmbuild >/dev/null || {
        echo 'skipped: RPM packages (rpmbuild is not installed)'
        return
    }
    mkdir -p "$out/rpm/SOURCES"
    cp "$tarball" "$out/rpm/SOURCES"
    unset BUILD MAKEFLAGS MFLAGS MAKELEVEL
    # On Debian, the build requirements are not in the database of rpm.
    check=--without=check
    [ "${CHECK:-}" != yes ] || check=--with=check
    run rpmbuild -bb --nodeps "$check" --define "_topdir $out/rpm" packages/rpm/holdfast.spec
    echo "packages: RPM:" "$out"/rpm/RPMS/*/*.rpm
}

# ---- Arch ----

arch() {
    for tool in makepkg pacman bsdtar fakeroot; do
        command -v $tool >/dev/null || {
            echo "skipped: the Arch package ($tool is not installed)"
            return
        }
    done
    [ "$(id -u)" != 0 ] || { echo 'skipped: the Arch package (makepkg does not run as root)'; return; }
    mkdir "$out/arch"
    cp "$tarball" packages/arch/PKGBUILD "$out/arch"
    check=--nocheck
    [ "${CHECK:-}" != yes ] || check=--check
    cd "$out/arch"
    unset BUILD MAKEFLAGS MFLAGS MAKELEVEL
    # On Debian, the dependencies are not in the database of pacman.
    run makepkg --nodeps $check
    cd "$root"
    echo "packages: Arch:" "$out"/arch/*.pkg.tar.*
}

# ---- Conan ----

# Without TLS, because OpenSSL would come from Conan's servers.
conan_package() {
    command -v conan >/dev/null || {
        echo 'skipped: the Conan package (conan is not installed: pip install conan)'
        return
    }
    mkdir "$out/conan"
    tar -xzf "$tarball" -C "$out/conan"
    cd "$out/conan/holdfast-$version"
    unset BUILD MAKEFLAGS MFLAGS MAKELEVEL
    export CONAN_HOME="$out/conan/home"
    run conan profile detect
    for shared in True False; do
        run conan create packages/conan --no-remote -o 'holdfast/*:tls=False' \
            -o "holdfast/*:shared=$shared"
    done
    cd "$root"
    echo 'packages: Conan: shared and static, and a program that uses each'
}

# ---- Alpine ----

alpine() {
    run sh -n packages/alpine/APKBUILD
    echo 'skipped: the Alpine package (it is built with abuild on Alpine): only its syntax is checked'
}

(debian)
(rpm_packages)
(arch)
(conan_package)
alpine
