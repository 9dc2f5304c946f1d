#!/usr/bin/env python3
"""Writes lib/commands/command_table.inc from what running servers say about their commands.

    tests/tools/gen_commands.py 127.0.0.1:6379 [host:port ...] > lib/commands/command_table.inc

Only facts that a server states itself (COMMAND: arity, flags, tips, key specifications) are written;
what a server does not say is decided by hand in lib/commands/hand_rules.hpp. Where several servers
know a command the first one named wins, so name the newest Valkey first and older or other servers
after it for the commands that only they have. `--json` prints the same facts for other tools.
"""

import json
import socket
import sys

# Flags of COMMAND's reply, in the order of enum class Flag. "skip_slowlog" is the older name of
# "skip_commandlog".
FLAGS = [
    "write", "readonly", "denyoom", "admin", "pubsub", "noscript", "blocking", "loading", "stale",
    "no_auth", "no_async_loading", "no_mandatory_keys", "movablekeys", "fast", "asking",
    "allow_busy", "no_multi", "skip_monitor", "skip_commandlog", "module",
]
FLAG_ALIASES = {"skip_slowlog": "skip_commandlog"}
TIPS = ["nondeterministic_output", "nondeterministic_output_order"]
KEY_FLAGS = {
    "RO": "ro", "RW": "rw", "OW": "ow", "RM": "rm", "access": "access", "update": "update",
    "insert": "insert", "delete": "remove", "not_key": "not_key", "incomplete": "incomplete",
    "variable_flags": "variable_flags",
}
REQUEST = ["all_nodes", "all_shards", "multi_shard", "special"]
RESPONSE = ["one_succeeded", "all_succeeded", "agg_logical_and", "agg_logical_or", "agg_min",
            "agg_max", "agg_sum", "special"]


class Server:
    """The few lines of RESP2 that COMMAND and INFO need."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host or "127.0.0.1", int(port)), timeout=10)
        self.file = self.socket.makefile("rb")

    def call(self, *args):
        out = b"*%d\r\n" % len(args)
        for arg in args:
            raw = arg.encode()
            out += b"$%d\r\n%s\r\n" % (len(raw), raw)
        self.socket.sendall(out)
        return self.read()

    def read(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self.file.read(size + 2)[:-2].decode()
        if kind == b"*":
            return None if int(rest) < 0 else [self.read() for _ in range(int(rest))]
        raise RuntimeError("not RESP2: %r" % line)


def as_dict(flat):
    return dict(zip(flat[::2], flat[1::2]))


def key_spec(raw):
    raw = as_dict(raw)
    begin, find = as_dict(raw["begin_search"]), as_dict(raw["find_keys"])
    return {
        "flags": raw["flags"],
        "begin": begin["type"], "begin_spec": as_dict(begin["spec"]),
        "find": find["type"], "find_spec": as_dict(find["spec"]),
    }


def collect(entry, table):
    name, arity, flags, tips, specs, subs = entry[0], entry[1], entry[2], entry[7], entry[8], entry[9]
    table[name.upper().replace("|", " ")] = {
        "arity": arity,
        "flags": [FLAG_ALIASES.get(flag, flag) for flag in flags],
        "tips": tips,
        "specs": [key_spec(spec) for spec in specs],
        "container": bool(subs),
    }
    for sub in subs:
        collect(sub, table)


def describe(server):
    """ "valkey 9.1.2": name and version as INFO says them."""
    lines = dict(line.split(":", 1) for line in server.call("INFO", "server").split("\r\n")
                 if ":" in line)
    if "valkey_version" in lines:
        return "valkey " + lines["valkey_version"]
    return "redis " + lines["redis_version"]


def policy(tips, prefix, known):
    for tip in tips:
        if tip.startswith(prefix):
            value = tip[len(prefix):]
            if value not in known:
                raise RuntimeError("new policy: " + tip)
            return value
    return "none"


def spec_text(spec):
    flags = " | ".join("kf::" + KEY_FLAGS[flag] for flag in spec["flags"]) or "0"
    begin, find = spec["begin_spec"], spec["find_spec"]
    if spec["begin"] == "index":
        head = 'Begin::index, %d, ""' % begin["index"]
    elif spec["begin"] == "keyword":
        head = 'Begin::keyword, %d, "%s"' % (begin["startfrom"], begin["keyword"])
    else:
        head = 'Begin::unknown, 0, ""'
    if spec["find"] == "range":
        tail = "Find::range, %d, %d, %d" % (find["lastkey"], find["keystep"], find["limit"])
    elif spec["find"] == "keynum":
        tail = "Find::keynum, %d, %d, %d" % (find["keynumidx"], find["keystep"], find["firstkey"])
    else:
        tail = "Find::unknown, 0, 0, 0"
    return "{%s, %s, %s}" % (head, tail, flags)


def cxx(table, sources):
    groups, order = {}, []  # many commands share one list of specs: write each list once
    for name in sorted(table):
        texts = tuple(spec_text(spec) for spec in table[name]["specs"])
        if texts and texts not in groups:
            groups[texts] = len(order)
            order += texts
    out = [
        "// Written by tests/tools/gen_commands.py; do not edit. Facts as stated by:",
        "//   " + ", ".join(sources) + " (the first that knows a command wins)",
        "// clang-format off",
        "",
        "// begin, index or start, keyword, find, last key or index of the number of keys, step,",
        "// limit or first key, flags",
        "inline constexpr KeySpec key_specs[] = {",
    ]
    out += ["    /* %2d */ %s," % (i, text) for i, text in enumerate(order)]
    out += [
        "};",
        "",
        "// name, arity, flags, request policy, response policy, first spec, number of specs",
        "inline constexpr ServerFacts server_facts[] = {",
    ]
    for name in sorted(table):
        facts = table[name]
        for flag in facts["flags"]:
            if flag not in FLAGS:
                raise RuntimeError("new flag: " + flag)
        flags = [flag for flag in FLAGS if flag in facts["flags"]]
        flags += [tip for tip in TIPS if tip in facts["tips"]]
        if facts["container"]:
            flags.append("container")
        texts = tuple(spec_text(spec) for spec in facts["specs"])
        out.append('    {"%s", %d, %s, Request::%s, Response::%s, %d, %d},' % (
            name, facts["arity"], " | ".join("f::" + flag for flag in flags) or "0",
            policy(facts["tips"], "request_policy:", REQUEST),
            policy(facts["tips"], "response_policy:", RESPONSE),
            groups.get(texts, 0), len(texts)))
    out += ["};", "", "// clang-format on"]
    return "\n".join(out)


def main(arguments):
    addresses = [argument for argument in arguments if not argument.startswith("--")]
    if not addresses:
        sys.exit(__doc__)
    table, sources = {}, []
    for address in addresses:
        server = Server(address)
        sources.append(describe(server))
        found = {}
        for entry in server.call("COMMAND"):
            collect(entry, found)
        for name, facts in found.items():
            table.setdefault(name, facts)
    print(json.dumps(table, indent=1) if "--json" in arguments else cxx(table, sources))


if __name__ == "__main__":
    main(sys.argv[1:])
