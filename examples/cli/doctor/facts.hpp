// What the doctor knows of a deployment before it judges: plain values, no opinions.
//
// Thread rule: plain values; use them from one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>

namespace slotwise::cli {

/// A value, or the reason why it is not known.
struct Setting {
  std::optional<std::string> value;
  std::string why_not;
};

/// One line of CLUSTER NODES.
struct Member {
  std::string id;
  std::string ip;
  std::uint16_t port = 0;
  std::string hostname;  ///< announced; mostly empty
  std::set<std::string> flags;
  std::string primary_id;  ///< of a replica
  bool link_up = true;     ///< the bus link of the node whose view this is
  std::vector<std::pair<int, int>> slots;
  int open_slots = 0;  ///< being migrated or imported slot by slot

  bool has(const char* flag) const { return flags.contains(flag); }
  bool is_primary() const { return has("master"); }
  std::string address() const;
};

/// What one node said.
struct NodeFacts {
  std::string id;  ///< as the client's topology has it; empty where the server does not say
  std::string endpoint;
  std::string trouble;  ///< why it does not answer; empty: it does
  std::map<std::string, std::string, std::less<>> info;
  std::string info_trouble;               ///< why INFO is not known
  std::map<std::string, Setting> config;  ///< by name, for each that was asked for
  std::map<std::string, std::string, std::less<>> cluster_info;
  std::vector<Member> view;        ///< its CLUSTER NODES
  std::set<std::string> commands;  ///< of those that were asked for, what it has
  bool commands_known = false;

  bool answers() const noexcept { return trouble.empty(); }
  /// A field of INFO; empty if it is not known.
  std::string_view field(std::string_view name) const;
  std::optional<std::uint64_t> number(std::string_view name) const;
  /// A setting's value; empty if it is not known.
  std::optional<std::string> setting(const std::string& name) const;
};

/// A host name by which clients reach a node.
struct NameFacts {
  std::string name;
  std::optional<std::chrono::seconds> ttl;  ///< the shortest of its addresses
  std::string why_not;
};

/// Another sentinel, as one describes it.
struct SentinelPeer {
  std::string endpoint;
  std::string id;
  std::string flags;
};

/// What one sentinel said about the primary of the URI's name.
struct SentinelFacts {
  std::string endpoint;
  std::string id;       ///< its own; empty where it does not say
  bool in_uri = true;   ///< else the others know it
  std::string trouble;  ///< why it does not answer, or does not know the name; empty: it does
  ErrorCode trouble_code = ErrorCode::connect_failed;
  std::vector<SentinelPeer> peers;
  std::string ckquorum;                                     ///< what SENTINEL CKQUORUM said
  bool quorum_reached = false;                              ///< and whether that was good
  std::map<std::string, std::string, std::less<>> primary;  ///< SENTINEL MASTER
  std::vector<std::string> replicas;                        ///< "host:port"

  std::string field(std::string_view name) const;
  std::uint64_t number(std::string_view name) const;
  std::string primary_address() const;
};

struct Facts {
  Mode mode = Mode::cluster;
  std::vector<Endpoint> seeds;               ///< as the URI names them
  std::chrono::milliseconds call_timeout{};  ///< of the URI
  std::vector<NodeFacts> nodes;
  std::vector<NameFacts> names;
  std::string primary_name;              ///< the URI's name for it at the sentinels
  std::vector<SentinelFacts> sentinels;  ///< those of the URI, and those that they know
};

/// The settings and commands that the checks look at.
inline constexpr const char* asked_settings[] = {
    "appendonly",
    "save",
    "cluster-node-timeout",
    "cluster-require-full-coverage",
    "cluster-replica-no-failover",
    "cluster-databases",
    "maxmemory",
    "maxmemory-policy",
    "min-replicas-to-write",
};
inline constexpr const char* asked_commands[] = {
    "cluster|migrateslots",
    "cluster|migration",
    "cluster|slot-stats",
    "spublish",
};

/// "name:value" lines, as INFO and CLUSTER INFO have them; other lines are passed over.
std::map<std::string, std::string, std::less<>> parse_info(std::string_view text);
/// CLUSTER NODES; lines that make no sense are passed over.
std::vector<Member> parse_members(std::string_view text);
/// True for an IPv4 or IPv6 address (without brackets), false for a name.
bool is_address(const std::string& host);
/// "ip=127.0.0.1,port=7001,state=online": what `name` is; empty if it is not there.
std::string_view part_of(std::string_view text, std::string_view name);

}  // namespace slotwise::cli
