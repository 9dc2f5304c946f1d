#!/usr/bin/env python3
"""Reads the #include lines of lib/ and include/ and names those that point the wrong way.

In lib/, a room includes itself, rooms of a lower layer, and the public headers. In include/, headers
include only the standard library and each other. The layers are given by cmake/Rooms.cmake.
"""

import argparse
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".hpp", ".cpp", ".inc"}


def includes(file):
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match.group(2)


def sources(folder):
    return sorted(f for f in folder.rglob("*") if f.suffix in SOURCES)


def room_errors(root, layers):
    """Upward and sideways edges between the rooms of lib/."""
    lib = root / "lib"
    for room in sorted(f.name for f in lib.iterdir() if f.is_dir()):
        if room not in layers:
            yield f"lib/{room}: a room that cmake/Rooms.cmake does not know"
            continue
        for file in sources(lib / room):
            for number, target in includes(file):
                other = target.split("/")[0]
                if other in layers and other != room and layers[other] >= layers[room]:
                    yield (
                        f"{file.relative_to(root)}:{number}: {room} (layer {layers[room]}) "
                        f"includes {target} of {other} (layer {layers[other]})"
                    )


def public_errors(root):
    """Includes of public headers that a user of slotwise would not have."""
    for file in sources(root / "include"):
        for number, target in includes(file):
            is_own = target.startswith("slotwise/") and (root / "include" / target).is_file()
            is_standard = re.fullmatch(r"[a-z_0-9]+", target) is not None
            if not is_own and not is_standard:
                yield f"{file.relative_to(root)}:{number}: a public header includes {target}"


def check(root, layers):
    return [*room_errors(root, layers), *public_errors(root)]


def self_test():
    """The check finds each kind of bad edge, and passes the good ones."""
    layers = {"low": 0, "beside": 0, "high": 1}
    good = {
        "lib/high/a.cpp": '#include "high/a.hpp"\n#include "low/b.hpp"\n#include <slotwise/x.hpp>',
        "lib/low/b.hpp": "#include <vector>\n// #include of high/ in words is no edge",
        "include/slotwise/x.hpp": "#include <string>\n#include <slotwise/y.hpp>",
        "include/slotwise/y.hpp": "",
    }
    bad = {
        "lib/low/up.cpp": '#include "high/a.hpp"',
        "lib/low/sideways.hpp": '#  include "beside/a.hpp"',
        "lib/other/unknown.cpp": "",
        "include/slotwise/third.hpp": "#include <hiredis/hiredis.h>",
        "include/slotwise/third_flat.hpp": "#include <ares.h>",
        "include/slotwise/private.hpp": '#include "low/b.hpp"',
        "include/slotwise/missing.hpp": "#include <slotwise/none.hpp>",
    }

    def errors_of(files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return check(root, layers)

    assert errors_of(good) == [], errors_of(good)
    for name, text in bad.items():
        errors = errors_of({**good, name: text})
        assert len(errors) == 1 and errors[0].startswith(name.rsplit("/", 1)[0]), (name, errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--rooms", nargs="+", required=True, metavar="ROOM=LAYER")
    arguments = parser.parse_args()
    layers = {room: int(layer) for room, layer in (r.split("=") for r in arguments.rooms)}

    self_test()
    errors = check(arguments.root, layers)
    for error in errors:
        print(error)
    print(f"include_direction: {len(errors)} wrong includes")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
