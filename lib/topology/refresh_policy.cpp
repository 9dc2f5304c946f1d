#include "topology/refresh_policy.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/backoff.hpp"
#include "base/endpoint.hpp"

namespace slotwise::topology {

namespace {

constexpr std::size_t asks_per_round = 3;
constexpr std::size_t asks_at_start = 6;

bool contains(const std::vector<RefreshTarget>& targets, const RefreshTarget& target) {
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

}  // namespace

RefreshSettings RefreshSettings::from(const Config& config) {
  RefreshSettings settings;
  settings.interval = config.refresh_interval;
  settings.min_interval = config.refresh_min_interval;
  // A pace that the user has set slower than our slowest stays what it is.
  settings.max_interval = std::max(settings.max_interval, settings.min_interval);
  return settings;
}

RefreshPolicy::RefreshPolicy(RefreshSettings settings, std::vector<Endpoint> seeds,
                             base::Random random)
    : settings_(settings), random_(random) {
  for (Endpoint& seed : seeds) {
    const bool known = std::find(seeds_.begin(), seeds_.end(), seed) != seeds_.end();
    if (!known) seeds_.push_back(std::move(seed));
  }
}

void RefreshPolicy::set_nodes(std::vector<Node> nodes) {
  nodes_ = std::move(nodes);
}

void RefreshPolicy::set_connected(NodeHandle handle, bool connected) {
  for (Node& node : nodes_) {
    if (node.handle == handle) node.connected = connected;
  }
}

void RefreshPolicy::node_failed(NodeHandle handle, time_point now) {
  for (Node& node : nodes_) {
    if (node.handle != handle) continue;
    node.connected = false;
    failures_[base::endpoint_key(node.endpoint)] = now;
  }
}

void RefreshPolicy::trigger(RefreshReason reason, time_point, std::optional<RefreshTarget> target) {
  // The first reason is the cause; those that follow are mostly its consequences.
  if (!pending_ || reason_ == RefreshReason::retry) reason_ = reason;
  pending_ = true;
  if (target) preferred_ = std::move(target);
}

RefreshDecision RefreshPolicy::poll(time_point now) {
  RefreshDecision decision;
  if (!round_open_ && now >= next_round()) open_round(decision, now);
  if (round_open_) go_on(decision, now);
  if (!round_open_) decision.wake = next_round();
  if (has_view_ && !verified_ && !nodes_.empty()) ask_to_verify(decision, now);
  return decision;
}

RefreshPolicy::time_point RefreshPolicy::next_round() const noexcept {
  if (pending_) return not_before_;
  return next_periodic_ ? std::max(*next_periodic_, not_before_) : time_point::max();
}

void RefreshPolicy::open_round(RefreshDecision& decision, time_point now) {
  const bool triggered = std::exchange(pending_, false);
  decision.reason = triggered ? reason_ : RefreshReason::periodic;
  // Whatever goes on for longer is asked about more and more slowly: patches and redirects carry
  // the calls meanwhile, and every node of a big cluster is spared the work.
  const bool goes_on = triggered && last_round_ && now - *last_round_ <= 2 * pace_;
  const std::chrono::microseconds quickest = settings_.min_interval;
  const std::chrono::microseconds slowest = settings_.max_interval;
  pace_ = goes_on ? std::min(2 * pace_, slowest) : quickest;
  last_round_ = now;
  not_before_ = now + pace_ + std::chrono::microseconds(random_.between(0, pace_.count() / 5));

  ++round_;
  round_open_ = true;
  round_partial_ = false;
  replacements_ = 0;
  tried_.clear();
  ask_next(decision, now, false);
  // Where one answer may well not come, two are asked, and one of them by the name that we were
  // given: the known addresses may all be gone.
  if (!has_view_ || failed_rounds_ > 0) ask_next(decision, now, true);
  preferred_.reset();
}

// Asks one more where one has failed or keeps us waiting.
void RefreshPolicy::go_on(RefreshDecision& decision, time_point now) {
  while (replacements_ > 0 && tried_.size() < round_limit()) {
    --replacements_;
    if (!ask_next(decision, now, failed_rounds_ > 0)) break;
  }
  if (outstanding() == 0) {
    end_if_exhausted(now);
    return;
  }
  if (tried_.size() >= round_limit()) return;
  if (now >= last_ask_ + settings_.hedge_delay && !ask_next(decision, now, false)) return;
  if (tried_.size() < round_limit()) {
    decision.wake = std::min(decision.wake, last_ask_ + settings_.hedge_delay);
  }
}

bool RefreshPolicy::ask_next(RefreshDecision& decision, time_point now, bool seed_wanted) {
  const auto order = ranked(now);
  const auto usable = [this](const RefreshTarget& target) { return !asked_already(target); };
  auto choice = std::find_if(order.begin(), order.end(), usable);
  if (seed_wanted) {
    const auto seed = std::find_if(order.begin(), order.end(), [&](const RefreshTarget& target) {
      return target.is_seed() && usable(target);
    });
    if (seed != order.end()) choice = seed;
  }
  if (choice == order.end()) return false;
  last_ask_ = now;
  tried_.push_back(*choice);
  in_flight_.push_back(Flight{*choice, round_, false});
  decision.ask.push_back(*choice);
  return true;
}

void RefreshPolicy::ask_to_verify(RefreshDecision& decision, time_point now) {
  verified_ = true;
  // Seeds that were asked beside the first answer are a check too.
  auto wanted = static_cast<std::size_t>(std::max(settings_.verify_nodes, 0));
  wanted -= std::min(wanted, in_flight_.size());
  for (const RefreshTarget& target : ranked(now)) {
    if (wanted == 0) return;
    if (target.is_seed() || target.node == first_answer_ || asked_already(target)) continue;
    if (decision.ask.empty()) decision.reason = RefreshReason::verify;
    decision.ask.push_back(target);
    in_flight_.push_back(Flight{target, round_, true});
    --wanted;
  }
}

void RefreshPolicy::finished(const RefreshTarget& target, RefreshOutcome outcome, time_point now,
                             NodeHandle answered) {
  const auto key = base::endpoint_key(target.endpoint);
  if (outcome == RefreshOutcome::failed) {
    failures_[key] = now;
    forget_old_failures(now);
  } else {
    failures_.erase(key);
  }
  const auto at = std::find_if(in_flight_.begin(), in_flight_.end(),
                               [&](const Flight& flight) { return flight.target == target; });
  if (at == in_flight_.end()) return;
  const Flight flight = std::move(*at);
  in_flight_.erase(at);

  const bool of_this_round = round_open_ && !flight.verify && flight.round == round_;
  if (outcome == RefreshOutcome::changed || outcome == RefreshOutcome::unchanged) {
    got_view(answered != no_node ? answered : target.node, now);
    if (of_this_round) close_round(true, now);
    return;
  }
  if (!of_this_round) return;
  round_partial_ = round_partial_ || outcome == RefreshOutcome::partial;
  ++replacements_;
}

void RefreshPolicy::got_view(NodeHandle answered, time_point now) {
  if (!has_view_) first_answer_ = answered;
  has_view_ = true;
  failed_rounds_ = 0;
  next_periodic_.reset();
  if (settings_.interval.count() > 0) {
    next_periodic_ = now + base::jittered(settings_.interval, random_);
  }
}

// Nobody is left to ask and nobody owes an answer.
void RefreshPolicy::end_if_exhausted(time_point now) {
  // Gaps that every node shows are how the cluster is; a call that needs such a slot triggers.
  if (round_partial_) got_view(no_node, now);
  close_round(round_partial_, now);
}

void RefreshPolicy::close_round(bool success, time_point now) {
  round_open_ = false;
  if (success) return;
  ++failed_rounds_;
  if (!pending_) reason_ = RefreshReason::retry;
  pending_ = true;
  const base::BackoffLimits limits{settings_.min_interval, settings_.max_interval};
  not_before_ = std::max(not_before_, now + base::backoff_delay(limits, failed_rounds_, random_));
}

// Connected nodes, other nodes, seeds; each in random order, so that the load is spread and no
// single node's opinion rules. Then those that failed lately, the longest ago first, so that an
// outage goes through all of them.
std::vector<RefreshTarget> RefreshPolicy::ranked(time_point now) {
  std::vector<RefreshTarget> connected;
  std::vector<RefreshTarget> others;
  std::vector<RefreshTarget> seeds;
  std::vector<RefreshTarget> failed;
  std::vector<RefreshTarget> order;
  const auto sort_in = [&](RefreshTarget target, std::vector<RefreshTarget>& group) {
    (failed_lately(target.endpoint, now) ? failed : group).push_back(std::move(target));
  };
  for (const Node& node : nodes_) {
    sort_in({node.handle, node.endpoint}, node.connected ? connected : others);
  }
  for (const Endpoint& seed : seeds_) {
    const bool is_node = std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
      return base::same_endpoint(node.endpoint, seed);
    });
    if (!is_node) sort_in({no_node, seed}, seeds);
  }
  if (preferred_ && !failed_lately(preferred_->endpoint, now)) order.push_back(*preferred_);
  for (auto* group : {&connected, &others, &seeds, &failed}) {
    random_.shuffle(std::span(*group));
    if (group == &failed) {
      std::stable_sort(failed.begin(), failed.end(),
                       [this](const RefreshTarget& a, const RefreshTarget& b) {
                         return failures_.at(base::endpoint_key(a.endpoint)) <
                                failures_.at(base::endpoint_key(b.endpoint));
                       });
    }
    for (RefreshTarget& target : *group) {
      const bool is_preferred = !order.empty() && order.front() == target;
      if (!is_preferred) order.push_back(std::move(target));
    }
  }
  return order;
}

std::vector<RefreshTarget> RefreshPolicy::candidates(std::size_t count, time_point now) {
  auto order = ranked(now);
  if (order.size() > count) order.resize(count);
  return order;
}

bool RefreshPolicy::failed_lately(const Endpoint& endpoint, time_point now) const {
  if (failures_.empty()) return false;
  const auto failure = failures_.find(base::endpoint_key(endpoint));
  return failure != failures_.end() && now - failure->second < settings_.failure_memory;
}

// Addresses of nodes that are long gone must not pile up.
void RefreshPolicy::forget_old_failures(time_point now) {
  std::erase_if(failures_, [&](const auto& failure) {
    return now - failure.second >= settings_.failure_memory;
  });
}

bool RefreshPolicy::asked_already(const RefreshTarget& target) const {
  return contains(tried_, target) ||
         std::any_of(in_flight_.begin(), in_flight_.end(),
                     [&](const Flight& flight) { return flight.target == target; });
}

std::size_t RefreshPolicy::outstanding() const noexcept {
  return static_cast<std::size_t>(std::count_if(
      in_flight_.begin(), in_flight_.end(),
      [this](const Flight& flight) { return !flight.verify && flight.round == round_; }));
}

std::size_t RefreshPolicy::round_limit() const noexcept {
  return has_view_ ? asks_per_round : asks_at_start;
}

}  // namespace slotwise::topology
