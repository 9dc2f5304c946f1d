// Facts for the doctor's checks, without any server: a deployment in which all is well, to be
// spoilt by each test.
#pragma once

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/doctor/checks.hpp"

namespace slotwise::cli {

/// `primaries` primaries p0, p1 ... with a replica r0, r1 ... each, all on hosts of their own.
class Deployment {
 public:
  explicit Deployment(std::size_t primaries = 3) : primaries_(primaries) {
    facts.mode = Mode::cluster;
    facts.seeds = {{"10.0.0.1", 6379}, {"10.0.0.2", 6379}};
    facts.call_timeout = std::chrono::seconds(60);
    for (std::size_t i = 0; i < 2 * primaries; ++i)
      members.push_back(member(i));
    for (std::size_t i = 0; i < 2 * primaries; ++i)
      facts.nodes.push_back(node(i));
    share_views();
  }

  NodeFacts& primary(std::size_t i) { return facts.nodes.at(i); }
  NodeFacts& replica(std::size_t i) { return facts.nodes.at(primaries_ + i); }
  std::size_t replica_index(std::size_t i) const { return primaries_ + i; }

  /// Every node sees what stands in `members` now.
  void share_views() {
    for (std::size_t i = 0; i < facts.nodes.size(); ++i) {
      facts.nodes[i].view = members;
      for (Member& m : facts.nodes[i].view) {
        if (m.id == facts.nodes[i].id) m.flags.insert("myself");
      }
    }
  }
  /// It does not answer, and the others say so.
  void kill(std::size_t index) {
    facts.nodes.at(index).trouble = "connection refused";
    facts.nodes.at(index).info.clear();
    facts.nodes.at(index).config.clear();
    members.at(index).flags.insert("fail");
    share_views();
  }
  void remove(std::size_t index) {
    facts.nodes.erase(facts.nodes.begin() + static_cast<std::ptrdiff_t>(index));
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(index));
    share_views();
  }
  void set_all(const std::string& name, const std::string& value) {
    for (NodeFacts& n : facts.nodes)
      n.config[name].value = value;
  }
  void inform_all(const std::string& name, const std::string& value) {
    for (NodeFacts& n : facts.nodes)
      n.info[name] = value;
  }

  Facts facts;
  std::vector<Member> members;

 private:
  static std::string host(std::size_t i) { return fmt::format("10.0.0.{}", i + 1); }

  Member member(std::size_t i) const {
    Member m;
    m.id = fmt::format("id{}", i);
    m.ip = host(i);
    m.port = 6379;
    m.flags = {i < primaries_ ? "master" : "slave"};
    if (i >= primaries_) {
      m.primary_id = fmt::format("id{}", i - primaries_);
      return m;
    }
    const int share = slot_count / static_cast<int>(primaries_);
    const int first = share * static_cast<int>(i);
    m.slots = {{first, i + 1 == primaries_ ? slot_count - 1 : first + share - 1}};
    return m;
  }

  NodeFacts node(std::size_t i) const {
    NodeFacts n;
    n.id = fmt::format("id{}", i);
    n.endpoint = fmt::format("{}:6379", host(i));
    n.info = {{"valkey_version", "9.1.2"},
              {"aof_enabled", "1"},
              {"used_memory", "1000000000"},
              {"maxmemory", "4000000000"},
              {"maxmemory_policy", "noeviction"}};
    if (i >= primaries_) n.info["master_link_status"] = "up";
    n.config = {{"appendonly", {"yes", {}}},
                {"save", {"", {}}},
                {"cluster-node-timeout", {"5000", {}}},
                {"cluster-require-full-coverage", {"no", {}}},
                {"cluster-replica-no-failover", {"no", {}}},
                {"cluster-databases", {"1", {}}}};
    n.cluster_info = {{"cluster_state", "ok"}};
    n.commands = {"cluster|migrateslots", "cluster|slot-stats", "spublish"};
    n.commands_known = true;
    return n;
  }

  const std::size_t primaries_;
};

/// The findings of one check, or of all if it is empty, that are of this level.
inline std::vector<std::string> said(const Findings& findings, Level level,
                                     std::string_view check = {}) {
  std::vector<std::string> out;
  for (const Finding& f : findings.all()) {
    if (f.level == level && (check.empty() || f.check == check)) out.push_back(f.what);
  }
  return out;
}

inline std::string first_said(const Findings& findings, Level level, std::string_view check) {
  const auto all = said(findings, level, check);
  return all.empty() ? std::string() : all.front();
}

}  // namespace slotwise::cli
