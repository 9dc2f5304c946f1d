// What no server states about its commands, decided by hand, each with its reason.
//
// Thread rule: constants only.
//
// Names are those of the table and sorted like it: table.hpp does not compile otherwise.
#pragma once

#include <string_view>

#include "commands/command_info.hpp"

namespace slotwise::commands::hand {

struct NamedKeyRule {
  std::string_view name;
  KeyRule rule;
};

inline constexpr NamedKeyRule key_rules[] = {
    // No key, but a slot: on any node but its owner the answer would be 0, or nothing.
    {"CLUSTER COUNTKEYSINSLOT", KeyRule::slot_argument},
    {"CLUSTER FLUSHSLOT", KeyRule::slot_argument},
    {"CLUSTER GETKEYSINSLOT", KeyRule::slot_argument},
    // The specification finds the first STORE and the first STOREDIST; a server takes whichever of
    // the two comes last, and only that one is a key.
    {"GEORADIUS", KeyRule::geo_store},
    {"GEORADIUSBYMEMBER", KeyRule::geo_store},
    // "incomplete": the password of AUTH may be the word KEYS, and so may a key.
    {"MIGRATE", KeyRule::migrate},
    // "unknown" in the specification: STORE may stand anywhere and may also be the value of BY,
    // GET.
    // Patterns of BY and GET are no keys.
    {"SORT", KeyRule::sort},
    {"SORT_RO", KeyRule::sort},
    // The specification looks for the word STREAMS from the fourth argument on, which is wrong when
    // options stand before GROUP and the group or the consumer is called STREAMS. Servers route by
    // walking the options; so do we.
    {"XREAD", KeyRule::stream_read},
    {"XREADGROUP", KeyRule::stream_read},
};

struct NamedBlockRule {
  std::string_view name;
  BlockRule rule;
};

// CLIENT PAUSE has a time but answers at once, so it is not here.
inline constexpr NamedBlockRule block_rules[] = {
    {"BLMOVE", BlockRule::last_seconds},     {"BLMPOP", BlockRule::first_seconds},
    {"BLPOP", BlockRule::last_seconds},      {"BRPOP", BlockRule::last_seconds},
    {"BRPOPLPUSH", BlockRule::last_seconds}, {"BZMPOP", BlockRule::first_seconds},
    {"BZPOPMAX", BlockRule::last_seconds},   {"BZPOPMIN", BlockRule::last_seconds},
    {"WAIT", BlockRule::last_millis},        {"WAITAOF", BlockRule::last_millis},
    {"XREAD", BlockRule::stream_read},       {"XREADGROUP", BlockRule::stream_read},
};

// Neither flagged readonly nor able to change anything by their definition, so a lost reply may be
// asked for again. Short on purpose: a command that is missing here is only not retried.
inline constexpr std::string_view harmless[] = {
    "CLUSTER COUNTKEYSINSLOT",
    "CLUSTER GETKEYSINSLOT",
    "CLUSTER INFO",
    "CLUSTER KEYSLOT",
    "CLUSTER MYID",
    "CLUSTER NODES",
    "CLUSTER SHARDS",
    "CLUSTER SLOTS",
    "COMMAND",
    "COMMAND COUNT",
    "COMMAND DOCS",
    "COMMAND GETKEYS",
    "COMMAND GETKEYSANDFLAGS",
    "COMMAND INFO",
    "COMMAND LIST",
    "ECHO",
    "INFO",
    "LASTSAVE",
    "PING",
    "PUBSUB CHANNELS",
    "PUBSUB NUMPAT",
    "PUBSUB NUMSUB",
    "PUBSUB SHARDCHANNELS",
    "PUBSUB SHARDNUMSUB",
    "ROLE",
    "SCRIPT EXISTS",
    "TIME",
};

// Valkey 9.1 finds no key in MSETEX when it checks the slot of a request (its entry has a key
// specification but no legacy range, and the check reads only the latter): a node that does not own
// the slot stores the keys and answers OK, and nobody ever finds them there. Tried on 9.1.2. So
// MSETEX is right only while the client's map is right, and a stale map is not put right by MOVED.
inline constexpr std::string_view slot_unchecked[] = {"MSETEX"};

struct Refusal {
  std::string_view name;
  std::string_view sentence;
};

// Commands that change the connection which they travel on. Here that is a connection of many
// callers, so each would meet a state that it did not ask for (or the replies would not fit the
// requests any more). What the library does itself in the handshake is named as a setting.
inline constexpr Refusal refusals[] = {
    {"ASKING", "ASKING is sent by the library itself when a server answers ASK"},
    {"AUTH",
     "AUTH changes a connection that is shared: set Config::credentials or user:password@ in the "
     "URI"},
    {"CLIENT CACHING",
     "CLIENT CACHING changes a connection that is shared; the library keeps CLIENT TRACKING for "
     "itself"},
    {"CLIENT CAPA", "CLIENT CAPA changes a connection that is shared; the library sends it itself"},
    {"CLIENT IMPORT-SOURCE",
     "CLIENT IMPORT-SOURCE changes a connection that is shared: use a tool "
     "with a connection of its own"},
    {"CLIENT NO-EVICT",
     "CLIENT NO-EVICT changes a connection that is shared: set the server's "
     "maxmemory-clients instead"},
    {"CLIENT NO-TOUCH",
     "CLIENT NO-TOUCH changes a connection that is shared, and so the reads of "
     "all callers: use a tool with a connection of its own"},
    {"CLIENT REPLY",
     "CLIENT REPLY would take away the replies that other callers wait for: use "
     "client.pipeline() or client.async() to save round trips"},
    {"CLIENT SETINFO",
     "CLIENT SETINFO changes a connection that is shared; the library sends it "
     "itself at every connect"},
    {"CLIENT SETNAME",
     "CLIENT SETNAME changes a connection that is shared, until it is replaced: "
     "set Config::client_name or the URI parameter `client_name`"},
    {"CLIENT TRACKING",
     "CLIENT TRACKING changes a connection that is shared; the library keeps it "
     "for itself"},
    {"CLUSTER SYNCSLOTS", "CLUSTER SYNCSLOTS is spoken between servers only"},
    {"DISCARD",
     "DISCARD belongs to a transaction: use a script (client.eval), which "
     "runs atomically; transactions are not in this version"},
    {"EXEC",
     "EXEC belongs to a transaction: use a script (client.eval), which "
     "runs atomically; transactions are not in this version"},
    {"HELLO",
     "HELLO changes a connection that is shared: set Config::protocol, credentials and "
     "client_name"},
    {"MONITOR",
     "MONITOR turns a connection that is shared into a stream: use a tool with a "
     "connection of its own"},
    {"MULTI",
     "MULTI changes a connection that is shared: use a script (client.eval), which "
     "runs atomically; transactions are not in this version"},
    {"PSUBSCRIBE",
     "PSUBSCRIBE changes a connection that is shared: use a tool "
     "with a connection of its own; subscriptions are not in this version"},
    {"PSYNC", "PSYNC turns a connection that is shared into a replication stream"},
    {"PUNSUBSCRIBE",
     "PUNSUBSCRIBE changes a connection that is shared: use a tool "
     "with a connection of its own; subscriptions are not in this version"},
    {"QUIT",
     "QUIT would close a connection that other callers use: destroy the Client, or call "
     "client.close()"},
    {"READONLY",
     "READONLY changes a connection that is shared: set Config::read_from or the URI "
     "parameter `read_from`"},
    {"READWRITE",
     "READWRITE changes a connection that is shared: set Config::read_from or the URI "
     "parameter `read_from`"},
    {"REPLCONF", "REPLCONF is spoken between servers only"},
    {"RESET", "RESET would undo the handshake of a connection that other callers use"},
    {"SCRIPT DEBUG",
     "SCRIPT DEBUG changes a connection that is shared: use a tool with a "
     "connection of its own"},
    {"SELECT",
     "SELECT changes a connection that is shared: set Config::database or the URI "
     "parameter `db`"},
    {"SSUBSCRIBE",
     "SSUBSCRIBE changes a connection that is shared: use a tool "
     "with a connection of its own; subscriptions are not in this version"},
    {"SUBSCRIBE",
     "SUBSCRIBE changes a connection that is shared: use a tool "
     "with a connection of its own; subscriptions are not in this version"},
    {"SUNSUBSCRIBE",
     "SUNSUBSCRIBE changes a connection that is shared: use a tool "
     "with a connection of its own; subscriptions are not in this version"},
    {"SYNC", "SYNC turns a connection that is shared into a replication stream"},
    {"UNSUBSCRIBE",
     "UNSUBSCRIBE changes a connection that is shared: use a tool "
     "with a connection of its own; subscriptions are not in this version"},
    {"UNWATCH",
     "UNWATCH belongs to a transaction: use a script (client.eval), which "
     "runs atomically; transactions are not in this version"},
    {"WATCH",
     "WATCH changes a connection that is shared: use a script (client.eval), which "
     "runs atomically; transactions are not in this version"},
};

}  // namespace slotwise::commands::hand
