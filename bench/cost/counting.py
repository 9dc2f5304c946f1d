"""Runs bench_cost, outside and inside valgrind, and makes figures per operation of what it counted."""
import os
import re
import shutil
import subprocess
import tempfile

# Two lengths, whose difference counts. Natively they may be long; valgrind takes fifty times as long.
NATIVE_RUNS = (20_000, 120_000)
VALGRIND_RUNS = (2_000, 10_000)


class Failed(Exception):
    pass


def run(command, limit=300):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit,
                              check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command)} has not ended after {limit} s") from None
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} ends with {done.returncode}:\n{done.stdout}")
    return done.stdout


def shapes(program):
    return run([program, "shapes"]).split()


class Servers:
    """Servers in a process of their own, for as long as the block runs; gives their URI."""

    def __init__(self, program, *what):
        self.command = [program, *(map(str, what or ["serve"]))]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        uri = self.process.stdout.readline().strip()
        if not uri:
            raise Failed("the servers did not start")
        return uri

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def figures(text):
    """{"short": {"operations": 20000, ...}, ...} of lines such as "short operations=20000 ..."."""
    return {line.split()[0]: {key: int(value) for key, value in re.findall(r"(\w+)=(-?\d+)", line)}
            for line in text.splitlines() if "=" in line}


def native(program, uri, shape, runs=NATIVE_RUNS, more=()):
    """Allocations, their bytes, system calls and CPU time (which is not exact), each per operation."""
    counted = figures(run([program, "run", uri, shape, *map(str, runs), *map(str, more)]))
    short, long = counted["short"], counted["long"]
    operations = long["operations"] - short["operations"]
    return {what: (long[what] - short[what]) / operations
            for what in ("allocations", "bytes", "system_calls", "cpu_ns")}


def have_valgrind():
    return shutil.which("valgrind") is not None


# What counting.cpp puts in front of libc's functions is not the client's cost.
COUNTERS = {"malloc", "calloc", "realloc", "aligned_alloc", "send", "sendmsg", "recv", "read", "write", "poll",
            "epoll_ctl", "epoll_wait", "epoll_pwait2", "syscall"}


def own_cost(path, program):
    """{function: instructions spent in itself} of a file of callgrind's, without our counters."""
    names = {"fn": {}, "ob": {}}  # callgrind writes a name once and its number from then on
    current = {"fn": "", "ob": ""}
    cost = {}
    of_call = False
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line[0].isdigit() or line[0] in "+-*":
                if not of_call:  # the line behind calls= is what was spent in the function called
                    cost[tuple(current.values())] = cost.get(tuple(current.values()), 0) + int(line.split()[1])
                of_call = False
            elif line.startswith("calls="):
                of_call = True
            elif match := re.match(r"c?(fn|ob)=\((\d+)\)(?: (.*))?$", line):
                kind, number, name = match.groups()
                if name is not None:
                    names[kind][number] = name
                if not line.startswith("c"):
                    current[kind] = names[kind][number]
    program = os.path.realpath(program)
    by_function = {}
    for (function, binary), instructions in cost.items():
        if not (function in COUNTERS and os.path.realpath(binary) == program):
            by_function[function] = by_function.get(function, 0) + instructions
    return by_function


def instructions(program, uri, shape, runs=VALGRIND_RUNS, more=(), keep=None, limit=300):
    """User-space instructions of all threads per operation, and how many of them each function spends in itself.
    The program calls a function between its parts, and callgrind writes a file each time: .1 is the start, .2 the
    short run, .3 the long one. `keep`: where a copy of the last of these is to be."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-before=slotwise_bench_mark",
             program, "run", uri, shape, *map(str, runs), *map(str, more)], limit)
        short, long = own_cost(f"{out}.2", program), own_cost(f"{out}.3", program)
        if keep:
            shutil.copyfile(f"{out}.3", keep)
    if not long:
        raise Failed("callgrind wrote no cost")
    operations = runs[1] - runs[0]
    by_function = {function: (cost - short.get(function, 0)) / operations for function, cost in long.items()}
    return sum(by_function.values()), by_function
