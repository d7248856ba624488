"""Builds the extension. In the source tree of holdfast it makes native/library first."""
import os
import re
import subprocess

from setuptools import setup

os.chdir(os.path.dirname(os.path.abspath(__file__)))
TREE = os.path.join("..", "..")
LIBRARY = os.path.join("native", "library")


def make_library():
    """Writes holdfast.h and holdfast.c, unless this is a source distribution, which has them."""
    if os.path.exists(os.path.join(TREE, "mk", "amalgamate.pl")):
        make = os.environ.get("MAKE", "make").split()
        subprocess.run([*make, "-s", "-C", TREE, "amalgamation",
                        "AMALGAMATION=" + os.path.abspath(LIBRARY)], check=True)


def version():
    with open(os.path.join(LIBRARY, "holdfast.h"), encoding="utf-8") as header:
        text = header.read()
    return ".".join(re.search(rf"^#define HF_VERSION_{part} (\d+)", text, re.M).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


make_library()
setup(version=version(), cffi_modules=["native/ffi.py:ffi"],
      options={"bdist_wheel": {"py_limited_api": "cp38"}})
