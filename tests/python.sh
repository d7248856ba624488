#!/bin/sh
# python.sh BUILD: the binding of bindings/python, as a user gets it: a source distribution, which
# contains the library, is built outside of this tree, installed, and tested on a real server.
set -eu

build=$(pwd)/$1
out=$build/python
here=$(pwd)/bindings/python

# The first Python that has what the build and the tests need.
python=
for each in ${PYTHON:-python3 /usr/bin/python3}; do
    if "$each" -c 'import setuptools, cffi, pip, pytest, sysconfig, os, wheel
assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; then
        python=$each
        break
    fi
done
[ -n "$python" ] || { echo 'skipped: python: needs python3-cffi, -dev, -pip, -pytest, -setuptools, -wheel'; exit 0; }
command -v redis-server >/dev/null || { echo 'skipped: python: needs redis-server'; exit 0; }

rm -rf "$out"
mkdir -p "$out"
cp -R "$here" "$out/source"
rm -rf "$out/source/native/library"
make -s amalgamation AMALGAMATION="$out/source/native/library"
cd "$out/source"
"$python" -c 'from setuptools import build_meta; build_meta.build_sdist("..")' >"$out/log" 2>&1 ||
    { cat "$out/log" >&2; exit 1; }
cd "$out"
# Nothing but the distribution: what it lacks is not found elsewhere.
rm -rf source
tar xzf holdfast-*.tar.gz
pip() {
    PIP_ROOT_USER_ACTION=ignore "$python" -m pip --quiet --disable-pip-version-check \
        --no-cache-dir "$@" --no-build-isolation --no-index --no-deps >"$out/log" 2>&1 ||
        { cat "$out/log" >&2; exit 1; }
}
# The tests do not measure speed, and the compiler needs a quarter of the time.
CFLAGS="${CFLAGS:--O0}" pip wheel holdfast-*.tar.gz
ls holdfast-*.whl >/dev/null
pip install --target "$out/installed" holdfast-*.whl
cd holdfast-*/
PYTHONPATH=$out/installed PYTHONDONTWRITEBYTECODE=1 exec timeout 200 "$python" -m pytest -q \
    -p no:cacheprovider tests
