"""Conan 2: `conan create packages/conan` builds a package from this source tree."""
import re
from os.path import join

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import Autotools, AutotoolsToolchain, PkgConfigDeps
from conan.tools.layout import basic_layout


class Holdfast(ConanFile):
    name = "holdfast"
    description = "Distributed locks on Redis or Valkey"
    license = "MIT"
    package_type = "library"
    languages = "C"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "tls": [True, False]}
    default_options = {"shared": False, "tls": True}

    @property
    def _tree(self):
        return join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, join(self._tree, "net", "version.h"))
        self.version = ".".join(re.findall(r"(?m)^#define HF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        copy(self, "*", self._tree, self.export_sources_folder, excludes=("build*", ".git*", "*.pyc"))

    def requirements(self):
        if self.options.tls:
            self.requires("openssl/[>=1.1.1 <4]")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("holdfast needs Linux")

    def layout(self):
        basic_layout(self)

    def generate(self):
        tools = AutotoolsToolchain(self)
        environment = tools.environment()
        environment.prepend_path("PKG_CONFIG_PATH", self.generators_folder)
        tools.generate(environment)
        PkgConfigDeps(self).generate()

    def _make(self, target):
        Autotools(self).make(target, args=[
            "PREFIX=" + self.package_folder,
            "BUILD=" + self.build_folder,
            "LIBRARIES=" + ("shared" if self.options.shared else "static"),
            "TLS=" + ("yes" if self.options.tls else "no"),
            "-C", self.source_folder])

    def build(self):
        self._make("all")

    def package(self):
        self._make("install")
        copy(self, "LICENSE", self.source_folder, join(self.package_folder, "licenses"))
        # Conan writes files of its own for pkg-config and CMake.
        for folder in "lib/pkgconfig", "lib/cmake", "share":
            rmdir(self, join(self.package_folder, folder))

    def package_info(self):
        self.cpp_info.libs = ["holdfast"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("pkg_config_name", "holdfast")
        self.cpp_info.set_property("cmake_file_name", "holdfast")
        self.cpp_info.set_property("cmake_target_name", "holdfast::holdfast")
