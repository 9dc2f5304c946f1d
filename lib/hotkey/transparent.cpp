#include <string>
#include <utility>

#include <slotwise/hotkey.hpp>

#include "hotkey/shared.hpp"

namespace slotwise::hotkey {
namespace {

/// Its state if the key is split, else null. Throws Error: it is not known.
std::shared_ptr<KeyState> state_if_split(Shared& shared, std::string_view key) {
  if (!shared.is_split(key).value()) return nullptr;
  auto state = shared.state(key);
  state->used(Clock::now());
  const auto copies = shared.current(*state);
  if (copies) return state;
  if (copies.error().code() != ErrorCode::not_split) throw copies.error();
  return nullptr;  // the registry is a moment behind
}

Kind kind_of(const KeyState& state) {
  return state.copies()->manifest.kind;
}

Error other_kind(std::string_view key, std::string_view what) {
  std::string text = "the key \"";
  text.append(key).append("\" is split as a ").append(what);
  return Error(ErrorCode::not_split, Outcome::not_sent, std::move(text));
}

void check_value(const KeyState& state) {
  if (kind_of(state) == Kind::value) return;
  throw other_kind(state.key(), "counter, which cannot be set, deleted or expire: join it first");
}

/// A plain write may have waited in the client for so long that the key was split meanwhile.
bool split_meanwhile(Shared& shared, std::string_view key, Clock::time_point began) {
  if (Clock::now() - began <= grace - reader_limit) return false;
  const auto split = shared.is_split(key);
  return split && *split;
}

}  // namespace

TransparentClient::TransparentClient(const Splitter& splitter) : shared_(splitter.shared_) {}

std::optional<std::string> TransparentClient::get(std::string_view key) const {
  const auto state = state_if_split(*shared_, key);
  if (state == nullptr) return shared_->client().get(key);
  if (kind_of(*state) == Kind::counter) {
    return std::to_string(SplitCounter(shared_, state).read());
  }
  return SplitKey(shared_, state).get();
}

void TransparentClient::set(std::string_view key, std::string_view value) const {
  const auto began = Clock::now();
  auto state = state_if_split(*shared_, key);
  if (state == nullptr) {
    shared_->client().set(key, value);
    if (!split_meanwhile(*shared_, key, began)) return;
    state = state_if_split(*shared_, key);
    if (state == nullptr) return;
  }
  check_value(*state);
  SplitKey(shared_, state).set(value);
}

void TransparentClient::set(std::string_view key, std::string_view value,
                            std::chrono::milliseconds ttl) const {
  const auto began = Clock::now();
  auto state = state_if_split(*shared_, key);
  if (state == nullptr) {
    shared_->client().set(key, value, ttl);
    if (!split_meanwhile(*shared_, key, began)) return;
    state = state_if_split(*shared_, key);
    if (state == nullptr) return;
  }
  check_value(*state);
  SplitKey(shared_, state).set(value, ttl);
}

bool TransparentClient::del(std::string_view key) const {
  const auto began = Clock::now();
  auto state = state_if_split(*shared_, key);
  bool existed = false;
  if (state == nullptr) {
    existed = shared_->client().del({key}) > 0;
    if (!split_meanwhile(*shared_, key, began)) return existed;
    state = state_if_split(*shared_, key);
    if (state == nullptr) return existed;
  }
  check_value(*state);
  return SplitKey(shared_, state).del().existed || existed;
}

bool TransparentClient::expire(std::string_view key, std::chrono::milliseconds ttl) const {
  const auto began = Clock::now();
  auto state = state_if_split(*shared_, key);
  if (state == nullptr) {
    const bool existed = shared_->client().expire(key, ttl);
    if (!split_meanwhile(*shared_, key, began)) return existed;
    state = state_if_split(*shared_, key);
    if (state == nullptr) return existed;
  }
  check_value(*state);
  // As the command does.
  if (ttl.count() <= 0) return SplitKey(shared_, state).del().existed;
  return SplitKey(shared_, state).expire(ttl).existed;
}

std::int64_t TransparentClient::incr(std::string_view key, std::int64_t by) const {
  const auto state = state_if_split(*shared_, key);
  // What a plain increment adds to the original of a counter counts in any case.
  if (state == nullptr) return shared_->client().incrby(key, by);
  if (kind_of(*state) != Kind::counter) {
    throw other_kind(key, "value, which cannot be incremented: join it, or split it as a counter");
  }
  const SplitCounter counter(shared_, state);
  counter.incr(by);
  return counter.read();
}

}  // namespace slotwise::hotkey
