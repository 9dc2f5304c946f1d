#include "client/hot_keys.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/client.hpp>

#include "base/random.hpp"
#include "client/core.hpp"
#include "commands/keys.hpp"

namespace slotwise::detail {
namespace {

// Of a call with more keys some of them, chosen by chance: the sketch's error grows with the keys.
constexpr std::size_t most_keys_of_a_call = 8;

struct ChosenKeys {
  std::array<std::string_view, most_keys_of_a_call> keys;
  std::size_t count = 0;

  ChosenKeys() noexcept {}  // NOLINT: the places are filled one by one

  /// A key that is named twice is used by one call all the same.
  void add(std::string_view key) noexcept {
    const auto end = keys.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(keys.begin(), end, key) == end) keys[count++] = key;
  }
};

void choose_keys(const commands::CommandInfo& info, const CallSpec& call,
                 ChosenKeys& chosen) noexcept {
  // Nearly every call.
  if (info.simple && info.key_rule == commands::KeyRule::single && info.single_key != 0 &&
      info.arity_fits(call.words.size()) && info.single_key < call.words.size() &&
      !info.key_specs.front().is(commands::KeyFlag::not_key)) {
    chosen.keys[chosen.count++] = call.words[info.single_key];
    return;
  }
  commands::Keys all;
  const auto use = commands::KeyUse::data;
  if (commands::extract_keys(info, call.words, all, use) != commands::KeyStatus::ok) return;
  const std::size_t size = all.size();
  // Neighbours are as good as any, with a first one by chance.
  std::size_t skip = 0;
  if (size > most_keys_of_a_call) {
    skip = base::thread_random().below(static_cast<std::uint32_t>(size - most_keys_of_a_call + 1));
  }
  for (const commands::KeyRef key : all) {
    if (skip > 0) {
      --skip;
      continue;
    }
    chosen.add(call.words[key.index]);
    if (chosen.count == most_keys_of_a_call) break;
  }
}

}  // namespace

constinit thread_local HotKeySampler::Countdown HotKeySampler::this_threads;

HotKeySampler::HotKeySampler(int one_in)
    : one_in_(one_in),
      log_of_rest_(std::log1p(-1.0 / one_in)),
      recent_(observe::RecentKeys::Clock::now(), base::random_seed()) {}

std::unique_ptr<HotKeySampler> HotKeySampler::make(int one_in) {
  return one_in > 0 ? std::make_unique<HotKeySampler>(one_in) : nullptr;
}

std::uint64_t HotKeySampler::new_gap() const noexcept {
  if (one_in_ == 1) return 1;
  // 1 - unit() is not 0.
  return 1 + static_cast<std::uint64_t>(std::log(1 - base::thread_random().unit()) / log_of_rest_);
}

void HotKeySampler::look_at(const commands::CommandInfo* info, const CallSpec& call) noexcept {
  Countdown& countdown = this_threads;
  if (countdown.owner != this) {
    countdown = {this, new_gap()};
    if (--countdown.left != 0) return;
  }
  countdown.left = new_gap();
  if (info == nullptr) return;
  ChosenKeys chosen;
  choose_keys(*info, call, chosen);
  if (chosen.count == 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) {
    countdown.left = 1;
    return;
  }
  try {
    recent_.add_call(observe::RecentKeys::Clock::now());
    for (std::size_t i = 0; i < chosen.count; ++i)
      recent_.add_key(chosen.keys[i]);
  } catch (const std::bad_alloc&) {
    // A key that is not counted; the call is none of our business.
  }
}

observe::RecentKeys::Top HotKeySampler::top(double least_share) {
  const std::lock_guard lock(mutex_);
  return recent_.top(observe::RecentKeys::Clock::now(), least_share);
}

std::vector<HotKey> Core::hot_keys(double least_share) {
  std::vector<HotKey> keys;
  // In a forked child the lock may be held by a thread that is not there.
  if (hot_keys_ == nullptr || forked()) return keys;
  auto top = hot_keys_->top(least_share);
  // Over a shorter time a rate says little.
  const double seconds = std::max(top.time.count(), 1.0);
  for (auto& [key, slot, calls] : top.keys) {
    const auto seen = static_cast<double>(calls);
    keys.push_back({.key = std::move(key),
                    .share = seen / static_cast<double>(top.calls),
                    .per_second = seen * hot_keys_->one_in() / seconds,
                    .node = {}});
  }
  Engine& engine = engine_to_ask();
  engine.run([&] {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const routing::Node* owner = engine.dispatcher().node_for(top.keys[i].slot);
      if (owner != nullptr) keys[i].node = owner->name();
    }
  });
  return keys;
}

}  // namespace slotwise::detail

namespace slotwise {

std::vector<HotKey> Client::hot_keys(double least_share) const {
  return core_->hot_keys(least_share);
}

}  // namespace slotwise
