#!/usr/bin/env python3
"""Runs clang-tidy over the sources of lib/, and remembers what was clean.

Most of its time goes to headers, so sources of one room are looked at eight at a time, as one that
includes them all; the sanitizers' builds compile them like that, too. A source is clean as long as nothing that its findings depend on changes: itself, the project's headers
that it includes, its compile command, and .clang-tidy. The hash of all of these names a file in the
cache folder.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(rb'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
# The compile commands are g++'s: clang knows neither all of its warnings nor need they be errors.
# And its precompiled headers are no headers to clang.
PRECOMPILED = re.compile(r" -Winvalid-pch -include \S+")
ARGUMENTS = ["--quiet", "--extra-arg=-Wno-error", "--extra-arg=-Wno-unknown-warning-option",
             "--checks=-bugprone-suspicious-include"]
TOGETHER = 8


def closure(source):
    """The source and the project's headers that it includes, directly or not."""
    found, queue = set(), [source]
    while queue:
        file = queue.pop()
        if file in found:
            continue
        found.add(file)
        for name in INCLUDE.findall(file.read_bytes()):
            for folder in (ROOT / "lib", ROOT / "include", file.parent):
                if (folder / name.decode()).is_file():
                    queue.append(folder / name.decode())
                    break
    return sorted(found)


def fingerprint(source, command):
    digest = hashlib.sha256()
    for text in (command.encode(), " ".join(ARGUMENTS).encode(), (ROOT / ".clang-tidy").read_bytes()):
        digest.update(text)
    for file in closure(source):
        digest.update(str(file.relative_to(ROOT)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def tidy(build, source):
    run = subprocess.run(["clang-tidy", "-p", str(build), *ARGUMENTS, str(source)],
                         capture_output=True, text=True, check=False)
    # stderr only counts the suppressed warnings, unless clang-tidy itself fails.
    return "" if run.returncode == 0 and not run.stdout.strip() else run.stdout + run.stderr


def batches_of(sources):
    """Lists of sources of one folder."""
    folders = {}
    for source in sorted(sources):
        folders.setdefault(source.parent, []).append(source)
    for files in folders.values():
        for first in range(0, len(files), TOGETHER):
            yield files[first:first + TOGETHER]


def write_batch(cache, number, sources, commands):
    """A source that includes these, and its compile command."""
    file = cache / f"batch_{number}.cpp"
    file.write_text("".join(f'#include "{source}"\n' for source in sources))
    command = commands[sources[0]].replace(f" -c {sources[0]}", f" -c {file}")
    return file, {"directory": str(cache), "file": str(file), "command": command}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)

    commands = {}
    for entry in json.loads((arguments.build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"]).resolve()
        if source.is_relative_to(ROOT / "lib"):
            commands[source] = PRECOMPILED.sub("", entry["command"])
    stamps = {source: arguments.cache / fingerprint(source, command)
              for source, command in commands.items()}
    dirty = [source for source in stamps if not stamps[source].exists()]
    print(f"dev: lint: clang-tidy: {len(dirty)} of {len(stamps)} sources to look at", flush=True)

    for old in set(arguments.cache.iterdir()) - set(stamps.values()):
        old.unlink()
    batches, entries = {}, []
    for number, sources in enumerate(batches_of(dirty)):
        file, entry = write_batch(arguments.cache.resolve(), number, sources, commands)
        batches[file] = sources
        entries.append(entry)
    (arguments.cache / "compile_commands.json").write_text(json.dumps(entries))

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = {pool.submit(tidy, arguments.cache, file): file for file in batches}
        for future in concurrent.futures.as_completed(findings):
            sources = batches[findings[future]]
            if future.result():
                failed += len(sources)
                print(future.result(), flush=True)
            else:
                for source in sources:
                    stamps[source].touch()

    if failed:
        print(f"dev: error: clang-tidy has findings in {failed} sources or in one of them", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
