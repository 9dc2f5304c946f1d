// What the sentinels say, and waiting for it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kit/error.hpp"
#include "kit/sentinel.hpp"
#include "kit/wait.hpp"

namespace slotwise::kit {

std::optional<std::size_t> SentinelSet::server_at(const std::string& endpoint) const {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (this->endpoint(*servers_[i]) == endpoint) return i;
  }
  return std::nullopt;
}

std::size_t SentinelSet::primary_according_to(std::size_t index) const {
  const auto reply = sentinel(index).command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", options_.name);
  const auto endpoint = fmt::format("{}:{}", reply.at(0).str(), reply.at(1).str());
  if (const auto found = server_at(endpoint)) return *found;
  throw Error(fmt::format("{} names {}, which is none of ours", sentinel(index).name(), endpoint));
}

std::size_t SentinelSet::primary() const {
  std::map<std::size_t, int> votes;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (!sentinels_[i]->running() || sentinels_[i]->paused()) continue;
    ++votes[primary_according_to(i)];
  }
  if (votes.empty()) throw Error("no sentinel is running");
  return std::max_element(votes.begin(), votes.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// What keeps one sentinel from a failover; empty if nothing does.
std::string SentinelSet::trouble_of(Server& sentinel) const {
  const auto state = sentinel.command("SENTINEL", "MASTER", options_.name);
  const auto flags = state.at("flags").text;
  if (flags != "master") return "has its primary as " + flags;
  if (state.at("num-slaves").num() != static_cast<std::int64_t>(servers_.size()) - 1) {
    return fmt::format("knows {} replicas", state.at("num-slaves").text);
  }
  if (state.at("num-other-sentinels").num() != static_cast<std::int64_t>(sentinels_.size()) - 1) {
    return fmt::format("knows {} other sentinels", state.at("num-other-sentinels").text);
  }
  for (const auto& replica : sentinel.command("SENTINEL", "REPLICAS", options_.name).items) {
    if (replica.at("flags").text != "slave") {
      return fmt::format("has {} as {}", replica.at("name").text, replica.at("flags").text);
    }
    if (replica.at("master-link-status").text != "ok") {
      return fmt::format("sees {} without link to its primary", replica.at("name").text);
    }
  }
  const auto quorum = sentinel.try_command("SENTINEL", "CKQUORUM", options_.name);
  return quorum.is_error() ? quorum.text : "";
}

void SentinelSet::set_pace(bool quick) const {
  // The second of each pair is the server's default.
  const char* info = quick ? "500" : "10000";
  const char* publish = quick ? "300" : "2000";
  for (const auto& sentinel : sentinels_) {
    if (!sentinel->running() || sentinel->paused()) continue;
    sentinel->try_command("SENTINEL", "DEBUG", "INFO-PERIOD", info, "PUBLISH-PERIOD", publish);
    // A sentinel that did not run for two seconds does nothing for thirty (TILT): on a busy machine
    // that would be the test's failure, not the server's.
    sentinel->try_command("SENTINEL", "DEBUG", "TILT-TRIGGER", "30000");
  }
}

void SentinelSet::wait_ready(std::optional<milliseconds> limit) const {
  set_pace(true);
  const Server* who = nullptr;
  std::string what;
  const auto ready = [&] {
    for (const auto& sentinel : sentinels_) {
      if (!sentinel->running() || sentinel->paused()) continue;
      who = sentinel.get();
      try {
        what = trouble_of(*sentinel);
      } catch (const Error& error) {
        what = error.what();
      }
      if (!what.empty()) return false;
    }
    return true;
  };
  wait_until(
      ready, limit.value_or(options_.ready_limit),
      [&] {
        return fmt::format("the sentinels to be ready: {} {}; its log ends with:\n{}", who->name(),
                           what, who->log_tail());
      },
      milliseconds(20));
  set_pace(options_.quick);
}

std::size_t SentinelSet::wait_for_new_primary(std::size_t not_this, milliseconds limit) const {
  std::size_t found = not_this;
  std::string last;
  const auto changed_over = [&] {
    try {
      found = primary();
      if (found == not_this) {
        last = "the sentinels name the old one";
        return false;
      }
      last = fmt::format("{} says that it is {}", servers_[found]->name(), servers_[found]->role());
      return servers_[found]->role() == "master";
    } catch (const Error& error) {
      last = error.what();
      return false;
    }
  };
  wait_until(changed_over, limit, [&] {
    return fmt::format("another primary than {}: {}", servers_.at(not_this)->name(), last);
  });
  say(fmt::format("{} took over from {}", servers_[found]->name(), servers_[not_this]->name()));
  return found;
}

std::size_t SentinelSet::failover() {
  const auto old = primary();
  for (const auto& sentinel : sentinels_) {
    if (!sentinel->running() || sentinel->paused()) continue;
    sentinel->command("SENTINEL", "FAILOVER", options_.name);
    return wait_for_new_primary(old, options_.ready_limit);
  }
  throw Error("no sentinel is running");
}

}  // namespace slotwise::kit
