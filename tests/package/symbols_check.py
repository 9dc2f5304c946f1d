#!/usr/bin/env python3
"""What the installed libraries show to a linker.

libslotwise.a: every strong global symbol is slotwise's own C++ symbol (no C name that could clash).
libslotwise.so: exports slotwise:: and nothing else, and nothing of the rooms inside the library; of a
room that has a public header (hotkey), what that header declares as SLOTWISE_API.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OF_A_TYPE = r"(?:typeinfo for |typeinfo name for |vtable for |VTT for )?"


def symbols(nm, file, *options):
    """(type letter, mangled, demangled) of each defined global symbol."""

    def run(*more):
        command = [nm, "--defined-only", "--extern-only", "--format=posix", *options, *more, str(file)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        # An archive has a line of its own for each member.
        return [line for line in lines if not line.endswith("]:")]

    plain, demangled = run(), run("--demangle")
    for mangled_line, line in zip(plain, demangled, strict=True):
        mangled, letter = mangled_line.split()[:2]
        name = re.match(rf"(.*) {letter}(?: [0-9a-f]+)*\s*$", line).group(1)
        yield letter, mangled, name


def static_errors(nm, library):
    for letter, mangled, name in symbols(nm, library):
        is_weak = letter in "WVu"  # inline functions and templates, the standard library's among them
        if not is_weak and not (mangled.startswith("_Z") and "8slotwise" in mangled):
            yield f"{library.name} defines {name}, which is not in the namespace slotwise"


def public_names(room):
    """What the public headers of a room declare for the linker."""
    names = set()
    for header in (ROOT / "include/slotwise").glob(f"{room}*.hpp"):
        text = header.read_text()
        names.update(re.findall(r"\bclass SLOTWISE_API (\w+)", text))
        names.update(re.findall(r"^SLOTWISE_API [^(;]*?(\w+)\(", text, re.MULTILINE))
    return names


def shared_errors(nm, library, rooms):
    hidden = re.compile(rf"^{OF_A_TYPE}slotwise::({'|'.join(rooms)})::(\w+)")
    public = {room: public_names(room) for room in rooms}
    own = re.compile(rf"^{OF_A_TYPE}slotwise::")
    for _, _, name in symbols(nm, library, "--dynamic"):
        if not own.match(name):
            yield f"{library.name} exports {name}"
        elif (match := hidden.match(name)) and match[2] not in public[match[1]]:
            yield f"{library.name} exports {name}, which is private to a room"


def find(folders, name):
    found = [file for folder in folders for file in folder.rglob(name)]
    assert len(found) == 1, f"{name}: found {found}"
    return found[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--rooms", nargs="+", required=True, metavar="ROOM=LAYER")
    parser.add_argument("--libraries", nargs="+", type=pathlib.Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    rooms = [room.split("=")[0] for room in arguments.rooms]

    errors = [
        *static_errors(arguments.nm, find(arguments.libraries, "libslotwise.a")),
        *shared_errors(arguments.nm, find(arguments.libraries, "libslotwise.so"), rooms),
    ]
    for error in errors:
        print(error)
    print(f"package_symbols: {len(errors)} symbols that should not be seen")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
