#include "hotkey/background.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <utility>

#include "base/backoff.hpp"
#include "base/random.hpp"
#include "hotkey/keeping.hpp"
#include "hotkey/lost.hpp"
#include "hotkey/names.hpp"
#include "hotkey/repair.hpp"
#include "hotkey/shared.hpp"
#include "hotkey/steps.hpp"

namespace slotwise::hotkey {

namespace {

using namespace std::chrono_literals;

/// A key that nobody used for this long is looked after by others, or by nobody until it is used.
constexpr std::chrono::seconds used_lately = 60s;
constexpr std::chrono::milliseconds keeping_interval = 250ms;
/// All clients see a new topology at about the same time; one of them is to find the lock free.
constexpr std::chrono::milliseconds keeping_spread = 150ms;
/// How often the cluster is asked how many primaries have slots.
constexpr std::chrono::milliseconds look_interval = 1s;
constexpr base::BackoffLimits repair_pauses{.min = 20ms, .max = 2000ms};
constexpr base::BackoffLimits keeping_pauses{.min = 250ms, .max = 3000ms};

Clock::duration pause(base::BackoffLimits limits, int failures) {
  return base::backoff_delay(limits, failures, base::thread_random());
}

/// Another number whenever a primary, its health or its slots are others. Never 0.
std::uint64_t fingerprint(const TopologyInfo& topology) {
  std::string text;
  for (const auto& node : topology.nodes) {
    if (!node.primary && node.slots.empty()) continue;
    text += node.endpoint;
    text += node.healthy ? '+' : '-';
    for (const auto& range : node.slots) {
      text += std::to_string(range.first);
      text += '-';
      text += std::to_string(range.last);
      text += ' ';
    }
  }
  return std::hash<std::string>()(text) | 1;
}

std::uint64_t known_primaries(const TopologyInfo& topology) {
  return static_cast<std::uint64_t>(
      std::count_if(topology.nodes.begin(), topology.nodes.end(),
                    [](const TopologyInfo::Node& node) { return !node.slots.empty(); }));
}

/// A number of CLUSTER INFO; 0 if it is not there.
std::uint64_t number_in(std::string_view info, std::string_view field) {
  const std::size_t at = info.find(field);
  if (at == std::string_view::npos) return 0;
  info.remove_prefix(at + field.size());
  std::uint64_t value = 0;
  std::from_chars(info.data(), info.data() + info.size(), value);
  return value;
}

bool is_split(const KeyState& state) {
  const auto copies = state.copies();
  return copies != nullptr && !copies->manifest.joined;
}

bool lately(const KeyState& state, Clock::time_point now) {
  return now - state.used_at() < used_lately;
}

}  // namespace

Background::Background(Shared& shared) : shared_(shared), inbox_(std::make_shared<Inbox>()) {}

Background::~Background() {
  stop();
}

void Background::start() {
  // They hold what they work on, for the case that a callback of the user's ends the Splitter.
  refreshing_ = std::thread([this, self = shared_.shared_from_this()] { run_refreshing(); });
  working_ = std::thread([this, self = shared_.shared_from_this()] { run_working(); });
}

void Background::stop() noexcept {
  {
    const std::lock_guard lock(inbox_->mutex);
    stopping_ = true;
  }
  inbox_->changed.notify_all();
  for (std::thread* thread : {&refreshing_, &working_}) {
    if (!thread->joinable()) continue;
    if (thread->get_id() == std::this_thread::get_id()) {
      thread->detach();  // the Splitter was ended in its own on_trouble
    } else {
      thread->join();
    }
  }
}

void Background::want_repair(State state) {
  {
    const std::lock_guard lock(inbox_->mutex);
    auto& wanted = inbox_->repair;
    if (std::find(wanted.begin(), wanted.end(), state) != wanted.end()) return;
    wanted.push_back(std::move(state));
  }
  inbox_->changed.notify_all();
}

// --- refreshing --------------------------------------------------------------------------------

void Background::run_refreshing() noexcept {
  while (!stopping_) {
    const Clock::time_point started = Clock::now();
    try {
      refresh_all();
    } catch (...) {  // NOLINT: no memory now; again in a moment
    }
    std::unique_lock lock(inbox_->mutex);
    inbox_->changed.wait_until(lock, started + refresh_interval,
                               [this] { return stopping_.load(); });
  }
}

void Background::refresh_all() {
  const Clock::time_point now = Clock::now();
  for (const State& state : shared_.all_states()) {
    if (lately(*state, now) && is_split(*state)) refresh_manifest(state);
  }
  refresh_registry();
}

void Background::refresh_manifest(const State& state) {
  {
    const std::lock_guard lock(inbox_->mutex);
    // A home slot that does not answer is asked by one call at a time.
    if (!inbox_->being_asked.insert(state.get()).second) return;
  }
  const auto copies = state->copies();
  const Clock::time_point asked = Clock::now();
  shared_.copy_store()
      .look(state->key(), copies->manifest.number, false)
      .then([inbox = inbox_, state, copies, asked](Result<Home> home) {
        bool repair = false;
        if (home) {
          // Whether an absent one is lost or was joined long ago is for the worker to find out.
          if (home->status != Home::Status::absent) repair = state->hear(*home, asked);
          const auto known = state->copies();
          if (known != nullptr) state->first_heard(known->manifest.number);
        }
        {
          const std::lock_guard lock(inbox->mutex);
          inbox->being_asked.erase(state.get());
          if (home && home->status == Home::Status::absent) inbox->lost.emplace_back(state, copies);
          if (repair) inbox->repair.push_back(state);
          if (home) {
            inbox->well.push_back(state->key());
          } else {
            inbox->trouble.insert_or_assign(state->key(), home.error());
          }
        }
        inbox->changed.notify_all();
      });
}

void Background::refresh_registry() {
  const Result<void> heard = shared_.refresh_registry();
  std::vector<State> missing;
  if (heard) {
    const Clock::time_point now = Clock::now();
    for (const State& state : shared_.all_states()) {
      if (lately(*state, now) && is_split(*state) && !shared_.in_registry(state->key())) {
        missing.push_back(state);
      }
    }
  }
  const std::lock_guard lock(inbox_->mutex);
  if (!heard) {
    inbox_->trouble.insert_or_assign(std::string(registry_name), heard.error());
  } else {
    inbox_->well.emplace_back(registry_name);
    inbox_->not_entered = std::move(missing);
  }
}

// --- work --------------------------------------------------------------------------------------

void Background::run_working() noexcept {
  while (!stopping_) {
    try {
      work();
    } catch (...) {  // NOLINT: no memory now; again in a moment
      std::unique_lock lock(inbox_->mutex);
      inbox_->changed.wait_for(lock, keeping_interval, [this] { return stopping_.load(); });
    }
  }
}

void Background::work() {
  Clock::time_point next = do_repairs();
  if (stopping_) return;
  if (shared_.options().keep) {
    if (Clock::now() >= next_keeping_) do_keeping();
    next = (std::min)(next, next_keeping_);
  }

  std::vector<std::pair<State, std::shared_ptr<const Copies>>> lost;
  std::vector<State> not_entered;
  std::vector<State> repair;
  std::map<std::string, Error> trouble;
  std::vector<std::string> well;
  {
    std::unique_lock lock(inbox_->mutex);
    inbox_->changed.wait_until(lock, next, [this] {
      return stopping_ || !inbox_->repair.empty() || !inbox_->lost.empty();
    });
    if (stopping_) return;
    lost.swap(inbox_->lost);
    not_entered.swap(inbox_->not_entered);
    repair.swap(inbox_->repair);
    trouble.swap(inbox_->trouble);
    well.swap(inbox_->well);
  }
  for (const auto& [key, error] : trouble)
    tell("refresh", key, error);
  for (const std::string& key : well)
    tell_well("refresh", key);
  for (const auto& [state, last] : lost) {
    if (!stopping_) do_lost(state, *last);
  }
  for (const State& state : not_entered) {
    if (!stopping_) do_not_entered(state);
  }
  for (State& state : repair)
    repairs_.try_emplace(std::move(state));  // one that failed keeps its pause
}

Clock::time_point Background::do_repairs() {
  Clock::time_point next = Clock::now() + 1h;
  for (auto at = repairs_.begin(); at != repairs_.end() && !stopping_;) {
    if (at->second.due > Clock::now()) {
      next = (std::min)(next, at->second.due);
      ++at;
      continue;
    }
    KeyState& state = *at->first;
    const Result<void> repaired = hotkey::repair(shared_, state);
    if (repaired || repaired.error().code() == ErrorCode::not_split) {
      tell_well("repair", state.key());
      at = repairs_.erase(at);
      continue;
    }
    tell("repair", state.key(), repaired.error());
    at->second.due = Clock::now() + pause(repair_pauses, ++at->second.failures);
    next = (std::min)(next, at->second.due);
    ++at;
  }
  return next;
}

/// The client learns of slots that move by using them. Of a new primary, which has no copy yet, it
/// would not hear for long.
void Background::look_for_changes() {
  const Clock::time_point now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + look_interval;
  const auto states = shared_.all_states();
  if (std::none_of(states.begin(), states.end(),
                   [now](const State& state) { return lately(*state, now) && is_split(*state); })) {
    return;
  }
  const auto info = shared_.copy_client().async().command<std::string>("CLUSTER", "INFO").wait();
  if (!info) return;  // the client looks for whoever answers by itself
  const std::uint64_t size = number_in(*info, "cluster_size:");
  if (size == 0 || size == known_primaries(shared_.client().topology())) return;
  if (const Result<void> asked = shared_.client().refresh(); !asked) return;  // in a second again
}

void Background::do_keeping() {
  look_for_changes();
  const Clock::time_point now = Clock::now();
  next_keeping_ = now + keeping_interval;
  const std::uint64_t topology = fingerprint(shared_.client().topology());
  std::map<State, Keeping> kept;
  for (const State& state : shared_.all_states()) {
    if (!lately(*state, now) || !is_split(*state)) continue;
    const auto before = keeping_.find(state);
    Keeping& keeping = kept[state];
    if (before != keeping_.end()) {
      keeping = before->second;
    } else {
      // Nobody may have looked after it since the topology changed.
      keeping.due = now;
    }
    if (stopping_) return;
    keep_one(state, keeping, topology);
  }
  keeping_.swap(kept);
  next_keeping_ = (std::max)(next_keeping_, Clock::now());
}

void Background::keep_one(const State& state, Keeping& keeping, std::uint64_t topology) {
  const auto copies = state->copies();
  if (keeping.done_for == topology && !unfinished(copies->manifest)) return;
  if (keeping.done_for != topology && keeping.done_for != 0) {
    // Seen just now: not at the same moment as all other clients.
    keeping.done_for = 0;
    keeping.failures = 0;
    keeping.due = Clock::now() + std::chrono::milliseconds(base::thread_random().below(
                                     static_cast<std::uint32_t>(keeping_spread.count())));
  }
  if (keeping.due > Clock::now()) {
    next_keeping_ = (std::min)(next_keeping_, keeping.due);
    return;
  }
  KeepOrder order;
  order.stop = &stopping_;
  const Result<bool> kept = keep(shared_, *state, order);
  if (!kept && kept.error().code() != ErrorCode::not_split) {
    tell("keep", state->key(), kept.error());
    keeping.due = Clock::now() + pause(keeping_pauses, ++keeping.failures);
    return;
  }
  tell_well("keep", state->key());
  keeping.failures = 0;
  const bool done = !kept || *kept;
  keeping.done_for = done ? topology : 0;
  keeping.due = done ? Clock::time_point() : Clock::now() + keeping_interval / 2;
}

void Background::do_lost(const State& state, const Copies& last) {
  const Clock::time_point asked = Clock::now();
  const Result<bool> restored = restore_lost(shared_, *state, last.manifest);
  if (!restored) return tell("lost", state->key(), restored.error());
  tell_well("lost", state->key());
  if (!*restored) state->forget(asked);
}

void Background::do_not_entered(const State& state) {
  // The registry may have been asked before the key was joined, or after a split was begun.
  if (const auto home = look_at_manifest(shared_, *state); !home) return;
  if (const auto entered = enter_in_registry(shared_, state->key()); !entered) {
    tell("registry", state->key(), entered.error());
  } else {
    tell_well("registry", state->key());
  }
}

/// Once for each trouble that is another one than before.
void Background::tell(const std::string& what, const std::string& key, const Error& error) {
  std::string& told = told_[{what, key}];
  const auto code = std::string(to_string(error.code()));
  if (told == code) return;
  told = code;
  shared_.trouble(key, error);
}

void Background::tell_well(const std::string& what, const std::string& key) {
  told_.erase({what, key});
}

}  // namespace slotwise::hotkey
