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

std::string mend_of(const SentinelFacts& sentinel) {
  switch (sentinel.trouble_code) {
    case ErrorCode::auth_failed:
      return "Give the URI the sentinels' own sentinel_user and sentinel_password.";
    case ErrorCode::tls_failed:
      return "Look at sentinel_tls and sentinel_ca in the URI, and at the sentinel's certificate.";
    case ErrorCode::connection_lost:
      return "If it wants TLS, put sentinel_tls=yes into the URI; else look why it closes "
             "connections.";
    case ErrorCode::unknown_primary:
      return "See which names it has (SENTINEL MASTERS), and correct the URI or let it monitor.";
    default:
      return sentinel.in_uri
                 ? "Bring it back, or take it out of the URI (and SENTINEL RESET on the others)."
                 : "Bring it back; if it is gone for good, SENTINEL RESET on the others, one after "
                   "the other.";
  }
}

void look_at_reach(const Facts& facts, Findings& findings) {
  const std::size_t there = answering(facts).size();
  for (const SentinelFacts& sentinel : facts.sentinels) {
    if (sentinel.trouble.empty()) continue;
    findings.add(there == 0 ? Level::problem : Level::warning, "sentinels",
                 fmt::format("Sentinel {}{} is of no use: {}.", sentinel.endpoint,
                             sentinel.in_uri ? "" : ", which the others know,", sentinel.trouble),
                 there == 0 ? "No client can learn from the sentinels who the primary is."
                            : "If it is dead it has no vote, and no client can learn from it who "
                              "the primary is.",
                 mend_of(sentinel));
  }
}

struct Votes {
  std::uint64_t all = 0;  ///< sentinels, as they themselves count
  std::uint64_t quorum = 0;
  std::uint64_t majority = 0;
  std::uint64_t needed = 0;  ///< for a failover
};

Votes votes_of(const std::vector<const SentinelFacts*>& sentinels) {
  const auto largest = [&](const char* name) {
    std::uint64_t n = 0;
    for (const SentinelFacts* s : sentinels)
      n = std::max(n, s->number(name));
    return n;
  };
  Votes votes;
  votes.all = largest("num-other-sentinels") + 1;
  votes.quorum = largest("quorum");
  votes.majority = votes.all / 2 + 1;
  votes.needed = std::max(votes.quorum, votes.majority);
  return votes;
}

/// Their number, the quorum, and the majority that a failover needs whatever the quorum is.
void look_at_votes(const std::vector<const SentinelFacts*>& sentinels, Findings& findings) {
  const auto [all, quorum, majority, needed] = votes_of(sentinels);
  std::map<std::string, std::vector<std::string>> by_quorum;
  for (const SentinelFacts* s : sentinels)
    by_quorum[s->field("quorum")].push_back(s->endpoint);
  if (by_quorum.size() > 1) {
    findings.add(Level::warning, "quorum",
                 told_apart("The sentinels have different quorums", by_quorum, "at"),
                 "How many must call the primary dead depends on which of them looks.",
                 "SENTINEL SET name quorum N on each.");
  }
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

/// Whether so many answer that a failover could be authorised, before one is needed. CKQUORUM tells
/// the sentinels' own view, but only when they have missed each other for down-after-milliseconds.
void look_at_majority(const std::vector<const SentinelFacts*>& sentinels, Findings& findings) {
  const Votes votes = votes_of(sentinels);
  const std::uint64_t there = sentinels.size();
  if (there >= votes.all || votes.needed > votes.all) return;
  if (there < votes.needed) {
    findings.add(Level::problem, "votes",
                 fmt::format("Only {} of {} answer{}, and a failover needs {} votes.", there,
                             counted(votes.all, "sentinel"), there == 1 ? "s" : "", votes.needed),
                 "If the others are dead, no failover can be authorised: when the primary dies, no "
                 "replica takes over, and all writes wait until sentinels are back.",
                 "Bring sentinels back now. Those that are gone for good still count until "
                 "SENTINEL RESET on each of the others.");
  } else if (there == votes.needed) {
    findings.add(Level::warning, "votes",
                 fmt::format("{} of {} answer, and a failover needs each one of them.", there,
                             counted(votes.all, "sentinel")),
                 "If one more dies, no failover can be authorised.",
                 "Bring back the ones that are away.");
  }
}

/// Sentinels that answer here and that others do not hear.
void look_at_each_other(const std::vector<const SentinelFacts*>& sentinels, Findings& findings) {
  std::map<std::string, std::vector<std::string>> deaf;  // by the one that is not heard
  for (const SentinelFacts* s : sentinels) {
    for (const SentinelPeer& peer : s->peers) {
      const bool down = peer.flags.find("s_down") != std::string::npos ||
                        peer.flags.find("disconnected") != std::string::npos;
      const auto there = std::find_if(sentinels.begin(), sentinels.end(), [&](const auto* other) {
        return other->endpoint == peer.endpoint || (!peer.id.empty() && other->id == peer.id);
      });
      if (down && there != sentinels.end()) deaf[(*there)->endpoint].push_back(s->endpoint);
    }
  }
  for (const auto& [endpoint, names] : deaf) {
    findings.add(
        Level::warning, "sentinels",
        fmt::format("Sentinel {} answers here, but {} cannot reach it.", endpoint, listed(names)),
        "Its vote is missing where they need it.",
        "Look at the network between them, and at requirepass and TLS of the sentinels.");
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
    findings.add(Level::problem, "sentinels",
                 told_apart("The sentinels name different primaries", by_primary, "by"),
                 "Clients write to different servers, and one of them will lose all of it.",
                 "If it stays for more than some seconds: SENTINEL RESET name on those that are "
                 "wrong.");
  } else {
    findings.ok("sentinels",
                fmt::format("{0} answer{1} and name{1} the primary {2}.",
                            counted(sentinels.size(), "sentinel"), sentinels.size() == 1 ? "s" : "",
                            by_primary.begin()->first));
  }
  if (!down.empty()) {
    findings.add(Level::problem, "sentinels",
                 fmt::format("The primary is down, say {}.", listed(down)),
                 "A failover is on its way, or cannot be had.",
                 "Look again in some seconds; then at the sentinels' logs.");
  }
  for (const auto& [text, names] : no_quorum) {
    findings.add(Level::problem, "quorum",
                 fmt::format("CKQUORUM on {} says: {}", listed(names), text),
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

std::string host_of(const std::string& endpoint) {
  return endpoint.substr(0, endpoint.rfind(':'));
}

/// All that are known count, dead ones too: this is about where they are.
void look_at_hosts(const Picture& picture, const std::vector<const SentinelFacts*>& sentinels,
                   Findings& findings) {
  const Votes votes = votes_of(sentinels);
  const std::string primary =
      picture.shards.empty() ? std::string() : picture.shards.front().primary->host;
  std::map<std::string, std::uint64_t> by_host;
  for (const SentinelFacts& s : picture.facts.sentinels)
    ++by_host[host_of(s.endpoint)];
  for (const auto& [host, count] : by_host) {
    if (count > votes.all || votes.all - count >= votes.needed) continue;
    if (count < 2 && host != primary) continue;  // too few of them: see look_at_votes
    findings.add(Level::warning, "placement",
                 fmt::format("{} of {} are on {}, {}.", count, counted(votes.all, "sentinel"),
                             host == primary ? "the primary's address" : "one address", host),
                 "If that machine dies, those that are left are too few for a failover.",
                 "Put sentinels on machines of their own.");
  }
}

void look_at_lonely_primary(const Picture& picture, Findings& findings) {
  if (picture.shards.empty()) return;
  const Node& primary = *picture.shards.front().primary;
  if (!primary.answers() || primary.facts->setting("min-replicas-to-write") != "0") return;
  findings.add(Level::note, "acknowledged writes",
               fmt::format("min-replicas-to-write is 0 on {}.", primary.name),
               "A primary that is cut off from replicas and sentinels goes on acknowledging the "
               "writes of clients that still reach it, and loses them when it is made a replica.",
               "Set it to 1 with a min-replicas-max-lag of some seconds, or use WAIT for writes "
               "that must not get lost.");
}

void look_at_roles(const Picture& picture, Findings& findings) {
  for (const Node& node : picture.nodes) {
    if (!node.answers()) continue;
    const auto role = node.facts->field("role");
    if (node.primary && role == "slave") {
      findings.add(
          Level::problem, "mode",
          fmt::format("{} is named as the primary, and says that it is a replica.", node.name),
          "It refuses writes.",
          "If it stays for more than some seconds, look at the sentinels' logs.");
    } else if (!node.primary && role == "master") {
      findings.add(
          Level::problem, "mode",
          fmt::format("{} is a replica to the sentinels, and says that it is a primary.",
                      node.name),
          "It acknowledges writes of whoever asks it, and loses them when it is made a replica.",
          "A primary that has come back is made a replica within some ten seconds; if it stays, "
          "REPLICAOF on it.");
    }
  }
}

}  // namespace

void check_sentinels(const Picture& picture, Findings& findings) {
  if (picture.facts.mode != Mode::sentinel) return;
  look_at_reach(picture.facts, findings);
  const auto sentinels = answering(picture.facts);
  if (sentinels.empty()) return;
  look_at_votes(sentinels, findings);
  look_at_majority(sentinels, findings);
  look_at_agreement(sentinels, findings);
  look_at_each_other(sentinels, findings);
  look_at_roles(picture, findings);
  look_at_time(picture, sentinels, findings);
  look_at_hosts(picture, sentinels, findings);
  look_at_lonely_primary(picture, findings);
}

}  // namespace slotwise::cli
