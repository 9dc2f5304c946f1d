#!/usr/bin/env python3
"""Fails when an operation costs more than the committed limit: instructions, allocations, system calls.

The limits are those of the dev build (-O1), because CI has that anyhow: they find what makes a call dearer.
What users get is the release build, which measure.py measures.
"""
import argparse
import json
import os
import re
import sys

sys.dont_write_bytecode = True  # the sources' folder stays clean
import counting  # noqa: E402

LIMITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limits.json")
SKIPPED = 77

# How far above what was measured --update puts the limit. Instructions and allocations are exact but for what
# happens now and then (a timer, a buffer that grows); the number of system calls depends on how many replies
# one read finds.
SLACK = {"instructions": lambda value: round(value * 1.05),
         "allocations": lambda value: round(value * 1.02 + 0.05, 2),
         "system_calls": lambda value: round(value * 1.1 + 0.1, 2)}


def measure(program, shape, uri):
    figures = counting.native(program, uri, shape, runs=(5_000, 25_000))
    figures["instructions"], _ = counting.instructions(program, uri, shape)
    return {what: figures[what] for what in SLACK}


def measure_refresh(program):
    """A new map of 1,000 nodes; in ranges of 8 slots, because with smaller ones valgrind takes too long."""
    with counting.Servers(program, "serve-large-map", 1000, 8) as uri:
        figures = counting.native(program, uri, "refresh", runs=(4, 12))
        figures["instructions"], _ = counting.instructions(program, uri, "refresh", runs=(1, 4))
    return {what: figures[what] for what in ("instructions", "allocations")}


def judge(limits, build, measured):
    """Prints the table and returns what is over its limit, as text."""
    same_build = build == limits["build"]
    if not same_build:
        print(f"Instructions are not judged: the limits are for '{limits['build']}', this is '{build}'.")
    print(f"{'shape':16}{'figure':14}{'measured':>14}{'limit':>14}")
    over = []
    for shape, figures in measured.items():
        for what, value in figures.items():
            entry = limits["shapes"].get(shape, {}).get(what)
            print(f"{shape:16}{what:14}{value:14,.2f}{entry['limit'] if entry else float('nan'):14,.2f}")
            if entry is None:
                over.append(f"{shape}: {value:.2f} {what} an operation, and there is no limit yet")
            elif value > entry["limit"] and (what != "instructions" or same_build):
                over.append(f"{shape}: {value:.2f} {what} an operation, the limit is {entry['limit']} "
                            f"({entry['measured']} were measured when it was set)")
    return over


def update(limits, build, measured):
    old = limits["shapes"]
    limits = {"build": build, "shapes": {}}
    for shape, figures in measured.items():
        limits["shapes"][shape] = {}
        for what, value in figures.items():
            value = max(value, 0)  # a difference of two runs can be a little below
            entry = {"measured": round(value, 1 if what == "instructions" else 3), "limit": SLACK[what](value)}
            kept = old.get(shape, {}).get(what, {})
            if "slack" in kept:
                entry.update(limit=round(value * kept["slack"], 2), slack=kept["slack"])
            if kept.get("by_hand"):
                entry.update(limit=kept["limit"], by_hand=True)
            limits["shapes"][shape][what] = entry
    with open(LIMITS, "w", encoding="utf-8") as file:
        # Each figure on a line of its own.
        file.write(re.sub(r"{\s+(\"measured\"[^}]*?)\s+}", lambda found: "{ " + re.sub(r"\s+", " ", found[1]) + " }",
                          json.dumps(limits, indent=2)) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="bench_cost")
    parser.add_argument("--build", default="unknown", help="compiler and its options; instructions are judged only "
                        "where they are those of the limits")
    parser.add_argument("--update", action="store_true",
                        help="write what is measured, and limits a few per cent above it, into limits.json; limits "
                             "with \"by_hand\" stay, those with a \"slack\" of their own are so many times as high")
    arguments = parser.parse_args()

    if not counting.have_valgrind():
        print("skipped: valgrind is not installed (./dev setup installs it)")
        return SKIPPED
    with open(LIMITS, encoding="utf-8") as file:
        limits = json.load(file)
    try:
        with counting.Servers(arguments.program) as uri:
            measured = {shape: measure(arguments.program, shape, uri) for shape in counting.shapes(arguments.program)}
        measured["refresh"] = measure_refresh(arguments.program)
    except counting.Failed as failed:
        sys.exit(f"check.py: {failed}")

    if arguments.update:
        update(limits, arguments.build, measured)
        return 0
    over = judge(limits, arguments.build, measured)
    if over:
        print("\nMore than allowed:\n  " + "\n  ".join(over))
        print("Find out where it goes: bench/cost/measure.py PROGRAM SHAPE --top 40 (bench/cost/README.md).\n"
              "If it is meant, say in the commit what it buys, and raise the limits:\n  "
              f"python3 bench/cost/check.py --update --build \"{arguments.build}\" {arguments.program}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
