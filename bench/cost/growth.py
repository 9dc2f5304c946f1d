#!/usr/bin/env python3
"""Measures how the cost of a GET, and a client's memory, grow with keys and slots, nodes, and calls in flight;
and what a new map of 1,000 nodes costs. Writes growth.md, growth.json and growth.svg."""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True  # the sources' folder stays clean
import counting  # noqa: E402

# 16 keys lie in as many slots, 300,000 in all 16,384.
KEYS = [16, 1_000, 30_000, 300_000]
NODES = [3, 10, 30, 100, 300]
IN_FLIGHT = [16, 256, 4_000, 60_000, 1_000_000]
PER_NODE = 32  # calls in flight for each node, so that a read finds as many replies with few nodes as with many
PENDING = 100_000
LARGE_MAP = 1000
LARGE_MAP_BAR = 10  # milliseconds until it is in use


def point(program, uri, x, in_flight, keys):
    more = (in_flight, keys)
    runs = [max(base, factor * in_flight) for base, factor in zip(counting.VALGRIND_RUNS, (2, 4))]
    native_runs = [max(base, factor * in_flight) for base, factor in zip(counting.NATIVE_RUNS, (2, 4))]
    native = counting.native(program, uri, "async-get", native_runs, more)
    instructions, _ = counting.instructions(program, uri, "async-get", runs, more, limit=1200)
    print(f"{x:>10}{instructions:14.1f}{native['allocations']:14.3f}{native['system_calls']:14.3f}"
          f"{native['cpu_ns'] / 1000:10.2f}", flush=True)
    return {"x": x, "instructions": round(instructions, 1), "allocations": round(native["allocations"], 3),
            "system_calls": round(native["system_calls"], 3), "cpu_us": round(native["cpu_ns"] / 1000, 2)}


def series(name, points):
    print(f"\n{name:>10}{'instructions':>14}{'allocations':>14}{'system calls':>14}{'CPU us':>10}", flush=True)
    return [make() for make in points]


def memory(program, nodes, pending):
    with counting.Servers(program, "serve-scripted", nodes) as uri:
        return counting.figures(counting.run([program, "memory", uri, str(nodes), str(pending)]))


def measure(program):
    result = {}
    with counting.Servers(program) as uri:
        result["keys"] = series("keys", [lambda n=n: point(program, uri, n, 256, n) for n in KEYS])
        result["in flight"] = series("in flight", [lambda n=n: point(program, uri, n, n, 1024) for n in IN_FLIGHT])

    def with_nodes(nodes):
        with counting.Servers(program, "serve-scripted", nodes) as uri:
            return point(program, uri, nodes, PER_NODE * nodes, 16 * nodes)
    result["nodes"] = series("nodes", [lambda n=n: with_nodes(n) for n in NODES])

    few, many = memory(program, 3, PENDING), memory(program, NODES[-1], PENDING)
    per_node = (many["client"]["heap"] - few["client"]["heap"]) / (NODES[-1] - 3)
    result["memory"] = {"client and 3 nodes": few["client"]["heap"], "each further node": round(per_node),
                        "each pending call": round(few["pending"]["heap"] / PENDING)}
    with counting.Servers(program, "serve-large-map", LARGE_MAP, 1) as uri:
        native = counting.native(program, uri, "refresh", (5, 25))
        instructions, _ = counting.instructions(program, uri, "refresh", (2, 6))
        times = counting.figures(counting.run([program, "refresh-time", uri, "30"]))["refresh"]
        result["refresh"] = {"nodes": LARGE_MAP, "ranges": 16384, "cpu_ms": round(native["cpu_ns"] / 1e6, 2),
                             "in_use_ms": round(times["quickest_ns"] / 1e6, 2),
                             "in_use_median_ms": round(times["median_ns"] / 1e6, 2), "bar_ms": LARGE_MAP_BAR,
                             "instructions": round(instructions), "allocations": round(native["allocations"])}
    for name in ("memory", "refresh"):
        print(f"\n{name}: " + ", ".join(f"{what} {value}" for what, value in result[name].items()), flush=True)
    return result


def markdown(result):
    lines = ["# How the cost grows", "", "async GET, 16-byte keys, 64-byte values; each figure per operation.", ""]
    for name in ("keys", "in flight", "nodes"):
        lines += [f"| {name} | instructions | allocations | system calls | client CPU (us, not exact) |",
                  "|---:|---:|---:|---:|---:|"]
        lines += [f"| {p['x']:,} | {p['instructions']:,} | {p['allocations']} | {p['system_calls']} | {p['cpu_us']} |"
                  for p in result[name]] + [""]
    lines += ["| memory | bytes of the heap |", "|---|---:|"]
    lines += [f"| {what} | {value:,} |" for what, value in result["memory"].items()]
    new_map = result["refresh"]
    short = "SHORT" if new_map["in_use_ms"] > new_map["bar_ms"] else ""
    lines += ["", "| | ms, quickest of 30 | median | bar | |", "|---|---:|---:|---:|---|",
              f"| map refresh, {new_map['nodes']:,} nodes | {new_map['in_use_ms']} | {new_map['in_use_median_ms']} | "
              f"{new_map['bar_ms']} | {short} |", "",
              f"{new_map['ranges']:,} ranges of one slot; from the question to the map in use, received, parsed, merged "
              "and published: processor time of the thread that does it. With what is freed afterwards: "
              f"{new_map['cpu_ms']} ms, {new_map['instructions']:,} instructions, {new_map['allocations']:,} "
              "allocations.", ""]
    return "\n".join(lines)


def svg(result):
    """Three plots side by side: instructions a GET (from 0 on) over the logarithm of what grows."""
    width, height, gap, top = 250, 180, 60, 40
    highest = max(p["instructions"] for name in ("keys", "in flight", "nodes") for p in result[name]) * 1.15
    parts = []
    for i, name in enumerate(("keys", "in flight", "nodes")):
        left, points = gap + i * (width + gap), result[name]
        step = width / (len(points) - 1)
        spots = [(left + n * step, top + height * (1 - p["instructions"] / highest)) for n, p in enumerate(points)]
        parts.append(f'<path d="M{left} {top}V{top + height}H{left + width}" stroke="#888" fill="none"/>'
                     f'<text x="{left + width / 2}" y="{top - 18}" text-anchor="middle">{name}</text>'
                     '<polyline fill="none" stroke="#1f77b4" stroke-width="2" points="'
                     + " ".join(f"{x:.1f},{y:.1f}" for x, y in spots) + '"/>')
        for (x, y), p in zip(spots, points):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1f77b4"/>'
                         f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{p["instructions"]:.0f}</text>'
                         f'<text x="{x:.1f}" y="{top + height + 16}" text-anchor="middle">{p["x"]:,}</text>')
    total_width, total_height = gap + 3 * (width + gap), top + height + 50
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_width} {total_height}" '
            'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
            + "".join(parts) + f'<text x="{total_width / 2}" y="{total_height - 10}" text-anchor="middle">'
            'instructions an asynchronous GET</text></svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="bench_cost")
    parser.add_argument("--out", default="build/release/bench-results", help="folder for the results")
    arguments = parser.parse_args()
    if not counting.have_valgrind():
        sys.exit("growth.py: valgrind is not installed (./dev setup installs it)")
    try:
        result = measure(arguments.program)
    except counting.Failed as failed:
        sys.exit(f"growth.py: {failed}")
    os.makedirs(arguments.out, exist_ok=True)
    for name, text in (("growth.md", markdown(result)), ("growth.json", json.dumps(result, indent=2) + "\n"),
                       ("growth.svg", svg(result))):
        with open(os.path.join(arguments.out, name), "w", encoding="utf-8") as file:
            file.write(text)
        print(f"written: {os.path.join(arguments.out, name)}")


if __name__ == "__main__":
    main()
