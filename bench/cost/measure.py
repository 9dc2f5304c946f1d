#!/usr/bin/env python3
"""Prints what one operation costs: user-space instructions of all threads, allocations, system calls.

Every figure is the difference of two run lengths, so that what happens once does not count. The servers are
started by this script and run outside valgrind. Exit status 1: a bar is not kept (SHORT), or a run failed.
"""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True  # the sources' folder stays clean
import counting  # noqa: E402

# What may be spent at most. "system_calls" of a lone synchronous caller is exactly 2; seldom a connection that
# lay idle for some milliseconds is looked at before it is used.
BARS = {
    "sync-get": {"instructions": 1400, "allocations": 1, "system_calls": 2},
    "async-get": {"instructions": 1000, "allocations": 1, "system_calls": 0.10},
    "async-get-32": {"allocations": 1, "system_calls": 0.30},
    "async-get-view": {"allocations": 0},
}
NOISE = {"instructions": 0, "allocations": 0.005, "system_calls": 0.05}
COLUMNS = {"instructions": (14, ".1f"), "allocations": (13, ".3f"), "bytes": (9, ".1f"), "system_calls": (14, ".3f")}


def short_of(shape, figures):
    return [what for what, bar in BARS.get(shape, {}).items() if figures[what] > bar + NOISE[what]]


def bars_text(shape, figures):
    short = short_of(shape, figures)
    return ", ".join(f"{what} <= {bar}{' SHORT' if what in short else ''}" for what, bar in BARS.get(shape, {}).items())


def write(folder, rows):
    """cost.json and cost.md."""
    os.makedirs(folder, exist_ok=True)
    lines = ["| shape | " + " | ".join(COLUMNS) + " | bars |", "|---|" + "---:|" * len(COLUMNS) + "---|"]
    for shape, figures in rows.items():
        cells = [f"{figures[what]:{form}}" for what, (_, form) in COLUMNS.items()]
        lines.append("| " + " | ".join([shape, *cells, bars_text(shape, figures)]) + " |")
    for name, text in (("cost.md", "\n".join(lines)), ("cost.json", json.dumps(rows, indent=2))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text + "\n")
        print(f"written: {os.path.join(folder, name)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="bench_cost")
    parser.add_argument("shapes", nargs="*", help="default: all")
    parser.add_argument("--uri", help="servers that run already; default: a cluster of three is started")
    parser.add_argument("--in-flight", type=int, help="of the asynchronous shapes; default: as they say")
    parser.add_argument("--top", type=int, default=0, metavar="N", help="also the N costliest functions")
    parser.add_argument("--profile", metavar="DIR", help="folder for callgrind's files (callgrind_annotate reads them)")
    parser.add_argument("--out", default="build/release/bench-results", help="folder for the results")
    arguments = parser.parse_args()

    def count(uri):
        print(f"{'shape':16}" + "".join(f"{what:>{width}}" for what, (width, _) in COLUMNS.items()) + "  bars")
        more = [arguments.in_flight] if arguments.in_flight else []
        rows = {}
        for shape in arguments.shapes or counting.shapes(arguments.program):
            figures = counting.native(arguments.program, uri, shape, more=more)
            keep = os.path.join(arguments.profile, f"callgrind.{shape}") if arguments.profile else None
            figures["instructions"], by_function = (
                counting.instructions(arguments.program, uri, shape, more=more, keep=keep)
                if counting.have_valgrind() else (float("nan"), {}))
            rows[shape] = figures
            cells = [f"{figures[what]:{width}{form}}" for what, (width, form) in COLUMNS.items()]
            print(f"{shape:16}{''.join(cells)}  {bars_text(shape, figures)}".rstrip(), flush=True)
            for function in sorted(by_function, key=by_function.get, reverse=True)[:arguments.top]:
                print(f"    {by_function[function]:8.1f} {function}")
        write(arguments.out, rows)
        return 1 if any(short_of(shape, figures) for shape, figures in rows.items()) else 0

    if arguments.profile:
        os.makedirs(arguments.profile, exist_ok=True)
    try:
        if arguments.uri:
            return count(arguments.uri)
        with counting.Servers(arguments.program) as uri:
            return count(uri)
    except counting.Failed as failed:
        sys.exit(f"measure.py: {failed}")


if __name__ == "__main__":
    sys.exit(main())
