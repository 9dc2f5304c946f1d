// Would the sentinels see a dead primary, and could they agree on a successor?
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/doctor/checks.hpp"

namespace slotwise::cli {

namespace {

std::vector<const SentinelFacts*> answering(const Facts& facts) {
  std::vector<const SentinelFacts*> out;
  for (const SentinelFacts& sentinel : facts.sentinels) {
    if (sentinel.trouble.empty()) out.push_back(&sentinel);
  }
  return out;
}

void look_at_reach(const Facts& facts, Findings& findings) {
  const std::size_t there = answering(facts).size();
  for (const SentinelFacts& sentinel : facts.sentinels) {
    if (sentinel.trouble.empty()) continue;
    findings.add(there == 0 ? Level::problem : Level::warning, "sentinels",
                 fmt::format("Sentinel {} is of no use: {}.", sentinel.endpoint, sentinel.trouble),
                 there == 0 ? "No client can learn from the sentinels who the primary is."
                            : "It has no vote, and no client can learn from it who the primary is.",
                 "Bring it back, or take it out of the URI (and SENTINEL RESET on the others).");
  }
}

/// Their number, the quorum, and the majority that a failover needs whatever the quorum is.
void look_at_votes(const std::vector<const SentinelFacts*>& sentinels, Findings& findings) {
  const auto largest = [&](const char* name) {
    std::uint64_t n = 0;
    for (const SentinelFacts* s : sentinels)
      n = std::max(n, s->number(name));
    return n;
  };
  const std::uint64_t all = largest("num-other-sentinels") + 1;
  const std::uint64_t quorum = largest("quorum");
  const std::uint64_t majority = all / 2 + 1;
  const std::uint64_t needed = std::max(quorum, majority);
  if (quorum > all) {
    findings.add(
        Level::problem, "quorum",
        fmt::format("The quorum is {}, and there are {} only.", quorum, counted(all, "sentinel")),
        "They can never agree that the primary is dead.",
        "SENTINEL SET name quorum N on each, with N a majority of them.");
  } else if (needed + 1 > all) {
    findings.add(Level::problem, "quorum",
                 fmt::format("{}, quorum {}: a failover needs {} votes, so each one of them.",
                             counted(all, "sentinel"), quorum, needed),
                 "If one sentinel dies, often together with the primary beside it, there is no "
                 "failover.",
                 "Run three sentinels or more on machines of their own, and a quorum that is a "
                 "majority of them.");
  } else {
    findings.ok("quorum", fmt::format("{}, quorum {}; a failover needs {} votes.",
                                      counted(all, "sentinel"), quorum, needed));
  }
  if (quorum < majority) {
    findings.add(Level::note, "quorum",
                 fmt::format("The quorum of {} is less than the majority of {}.", quorum, majority),
                 "Few sentinels are enough to call the primary dead, but a failover needs the "
                 "majority all the same.",
                 "Set the quorum to the majority, unless this is wanted.");
  }
}

void look_at_agreement(const std::vector<const SentinelFacts*>& sentinels, Findings& findings) {
  std::map<std::string, std::vector<std::string>> by_primary;
  std::vector<std::string> down;
  std::map<std::string, std::vector<std::string>> no_quorum;
  for (const SentinelFacts* s : sentinels) {
    by_primary[s->primary_address()].push_back(s->endpoint);
    const std::string flags = s->field("flags");
    if (flags.find("_down") != std::string::npos || flags.find("disconnected") != std::string::npos)
      down.push_back(s->endpoint);
    if (!s->quorum_reached) no_quorum[s->ckquorum].push_back(s->endpoint);
  }
  if (by_primary.size() > 1) {
    std::string what = "The sentinels name different primaries:";
    for (const auto& [primary, names] : by_primary)
      what += fmt::format(" {} by {};", primary, listed(names));
    what.back() = '.';
    findings.add(Level::problem, "sentinels", std::move(what),
                 "Clients write to different servers, and one of them will lose all of it.",
                 "If it stays for more than some seconds: SENTINEL RESET name on those that are "
                 "wrong.");
  } else {
    findings.ok("sentinels",
                fmt::format("{} answer{} and name{} the primary {}.",
                            counted(sentinels.size(), "sentinel"), sentinels.size() == 1 ? "s" : "",
                            sentinels.size() == 1 ? "s" : "", by_primary.begin()->first));
  }
  if (!down.empty()) {
    findings.add(Level::problem, "sentinels",
                 fmt::format("The primary is down, say {}.", listed(down)),
                 "A failover is on its way, or cannot be had.",
                 "Look again in some seconds; then at the sentinels' logs.");
  }
  for (const auto& [text, names] : no_quorum) {
    findings.add(Level::problem, "quorum", fmt::format("CKQUORUM on {}: {}", listed(names), text),
                 "If the primary dies now, no replica takes over.",
                 "Bring the missing sentinels back; those that are gone for good: SENTINEL RESET.");
  }
}

void look_at_time(const Picture& picture, const std::vector<const SentinelFacts*>& sentinels,
                  Findings& findings) {
  std::uint64_t ms = 0;
  for (const SentinelFacts* s : sentinels)
    ms = std::max(ms, s->number("down-after-milliseconds"));
  const auto call = static_cast<std::uint64_t>(picture.facts.call_timeout.count());
  if (call == 0 || call > ms + 2000) return;
  findings.add(Level::note, "call timeout",
               fmt::format("A primary is called dead after {:.3g} s, and a call's timeout is "
                           "{:.3g} s.",
                           static_cast<double>(ms) / 1000, static_cast<double>(call) / 1000),
               "Calls that meet a dead primary fail before a replica has taken over.",
               "Give calls that should outlive a failover more time than that and some seconds.");
}

void look_at_hosts(const Picture& picture, const std::vector<const SentinelFacts*>& sentinels,
                   Findings& findings) {
  if (picture.shards.empty()) return;
  const std::string host = picture.shards.front().primary->host;
  const auto beside = static_cast<std::uint64_t>(
      std::count_if(sentinels.begin(), sentinels.end(), [&](const SentinelFacts* s) {
        return s->endpoint.substr(0, s->endpoint.rfind(':')) == host;
      }));
  const std::uint64_t all = sentinels.front()->number("num-other-sentinels") + 1;
  if (beside == 0 || all - beside >= all / 2 + 1) return;
  findings.add(Level::warning, "placement",
               fmt::format("{} of {} are on the primary's address, {}.", beside,
                           counted(all, "sentinel"), host),
               "If that machine dies, the sentinels that are left are no majority.",
               "Put sentinels on machines of their own.");
}

}  // namespace

void check_sentinels(const Picture& picture, Findings& findings) {
  if (picture.facts.mode != Mode::sentinel) return;
  look_at_reach(picture.facts, findings);
  const auto sentinels = answering(picture.facts);
  if (sentinels.empty()) return;
  look_at_votes(sentinels, findings);
  look_at_agreement(sentinels, findings);
  look_at_time(picture, sentinels, findings);
  look_at_hosts(picture, sentinels, findings);
  for (const Node& node : picture.nodes) {
    if (!node.primary || node.facts->field("role") != "slave") continue;
    findings.add(
        Level::problem, "mode",
        fmt::format("{} is named as the primary, and says that it is a replica.", node.name),
        "It refuses writes.",
        "If it stays for more than some seconds, look at the sentinels' logs.");
  }
}

}  // namespace slotwise::cli
