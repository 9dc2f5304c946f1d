#!/usr/bin/env python3
"""Checks the vcpkg overlay port as far as that goes without vcpkg: its manifest, the calls that
vcpkg's conventions ask of a portfile, and that both fit the project."""

import argparse
import json
import pathlib
import re
import sys

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
FIELDS = {"name", "version-semver", "description", "homepage", "license", "supports", "dependencies",
          "default-features", "features"}
# What the project's find_package calls are called in vcpkg; the last two are vcpkg's own helpers.
TARGET_PORTS = {"OpenSSL": "openssl", "Cares": "c-ares", "Hiredis": "hiredis", "fmt": "fmt"}
HELPER_PORTS = ["vcpkg-cmake", "vcpkg-cmake-config"]
CALLS = ["vcpkg_cmake_configure", "vcpkg_cmake_install", "vcpkg_cmake_config_fixup",
         "vcpkg_fixup_pkgconfig", "vcpkg_install_copyright"]


def dependency_errors(dependencies, where):
    names = [d if isinstance(d, str) else d.get("name", "") for d in dependencies]
    for name in names:
        if not NAME.fullmatch(name):
            yield f"{where}: '{name}' is no port name"
    if names != sorted(set(names)):
        yield f"{where}: not sorted, or named twice: {names}"


def manifest_errors(manifest, version, needed):
    if unknown := manifest.keys() - FIELDS:
        yield f"unknown fields: {sorted(unknown)}"
    for field in ("name", "version-semver", "description", "license", "dependencies"):
        if not manifest.get(field):
            yield f"field '{field}' is missing"
    if manifest.get("name") != "slotwise":
        yield "the port's name is not slotwise"
    if manifest.get("version-semver") != version:
        yield f"the port has version {manifest.get('version-semver')}, the project {version}"
    dependencies = manifest.get("dependencies", [])
    yield from dependency_errors(dependencies, "dependencies")
    names = {d if isinstance(d, str) else d["name"] for d in dependencies}
    if names != needed | set(HELPER_PORTS):
        yield f"dependencies are {sorted(names)}, the project finds {sorted(needed)}"
    for helper in HELPER_PORTS:
        if {"name": helper, "host": True} not in dependencies:
            yield f"{helper} is not a host dependency"
    for name, feature in manifest.get("features", {}).items():
        if not NAME.fullmatch(name) or not feature.get("description"):
            yield f"feature '{name}' is badly named or has no description"
        yield from dependency_errors(feature.get("dependencies", []), f"feature {name}")


def portfile_errors(port, root):
    text = (port / "portfile.cmake").read_text(encoding="utf-8")
    for call in CALLS:
        if not re.search(rf"^{call}\(", text, re.MULTILINE):
            yield f"portfile.cmake does not call {call}"
    source = re.search(r'"\$\{CMAKE_CURRENT_LIST_DIR\}/([./]+)" ABSOLUTE', text)
    if not source or (port / source.group(1)).resolve() != root.resolve():
        yield "portfile.cmake does not build the checkout that it lies in"
    for option in re.findall(r"-D(SLOTWISE_[A-Z_]+)=", text):
        if option not in (root / "cmake/DeveloperOptions.cmake").read_text(encoding="utf-8"):
            yield f"portfile.cmake sets {option}, which the project does not know"
    if "debug/include" not in text:
        yield "portfile.cmake leaves headers in debug/"
    usage = (port / "usage").read_text(encoding="utf-8")
    if "find_package(slotwise CONFIG REQUIRED)" not in usage or "slotwise::slotwise" not in usage:
        yield "usage does not say how to find and link slotwise"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    arguments = parser.parse_args()
    port = arguments.root / "cmake/vcpkg/ports/slotwise"

    manifest = json.loads((port / "vcpkg.json").read_text(encoding="utf-8"))
    project = (arguments.root / "CMakeLists.txt").read_text(encoding="utf-8")
    found = set(re.findall(r"^find_package\((\w+)", project, re.MULTILINE)) - {"Threads"}
    needed = {TARGET_PORTS.get(name, name) for name in found}

    errors = [*manifest_errors(manifest, arguments.version, needed),
              *portfile_errors(port, arguments.root)]
    for error in errors:
        print(error)
    print(f"vcpkg_port: {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
