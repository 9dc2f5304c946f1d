#include "observe/top_keys.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace slotwise::observe {

std::uint64_t hash_of_key(std::string_view key, std::uint64_t seed) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  const auto mix = [](std::uint64_t h) {
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93;
    return h ^ (h >> 32);
  };
  std::uint64_t h = seed ^ (key.size() * odd);
  std::size_t i = 0;
  std::uint64_t word = 0;
  for (; i + sizeof word <= key.size(); i += sizeof word) {
    std::memcpy(&word, key.data() + i, sizeof word);
    h = mix((h + word) * odd);
  }
  if (i < key.size()) {
    word = 0;
    std::memcpy(&word, key.data() + i, key.size() - i);
    h = mix((h + word) * odd);
  }
  return mix(h ^ seed);
}

// --- one sketch ------------------------------------------------------------------------------

TopKeys::TopKeys() : entries_(capacity) {
  buckets_.fill(none);
}

const TopKeys::Entry* TopKeys::find(std::uint64_t hash, std::size_t size,
                                    std::string_view kept) const noexcept {
  for (std::uint16_t at = buckets_[bucket_of(hash)]; at != none; at = entries_[at].next) {
    const Entry& entry = entries_[at];
    if (entry.hash == hash && entry.size == size && entry.key == kept) return &entry;
  }
  return nullptr;
}

void TopKeys::add(std::string_view key, std::uint64_t hash) {
  const std::string_view kept = key.substr(0, most_key_bytes);
  if (const Entry* found = find(hash, key.size(), kept)) {
    Entry& entry = entries_[static_cast<std::size_t>(found - entries_.data())];
    ++entry.count;
    return move_down(entry.place);
  }
  const bool full = used_ == capacity;
  const auto at = full ? order_[0] : static_cast<std::uint16_t>(used_);
  Entry& entry = entries_[at];
  entry.key.reserve(kept.size());  // nothing has changed yet if this throws
  if (full) unchain(at);
  entry.key.assign(kept);
  entry.hash = hash;
  entry.size = key.size();
  if (key.size() > most_key_bytes) entry.cut_slot = slot(key);
  // The newcomer takes over the smallest count: it may have come as often, unseen.
  entry.error = full ? entry.count : 0;
  entry.count = entry.error + 1;
  entry.next = std::exchange(buckets_[bucket_of(hash)], at);
  if (full) return move_down(0);
  put(used_, at);
  move_up(used_++);
}

void TopKeys::clear() noexcept {
  used_ = 0;
  buckets_.fill(none);
}

void TopKeys::unchain(std::uint16_t entry) noexcept {
  std::uint16_t* link = &buckets_[bucket_of(entries_[entry].hash)];
  while (*link != entry)
    link = &entries_[*link].next;
  *link = entries_[entry].next;
}

void TopKeys::put(std::size_t place, std::uint16_t entry) noexcept {
  order_[place] = entry;
  entries_[entry].place = static_cast<std::uint16_t>(place);
}

void TopKeys::move_down(std::size_t place) noexcept {
  const std::uint16_t moved = order_[place];
  const std::uint64_t count = entries_[moved].count;
  for (;;) {
    std::size_t child = 2 * place + 1;
    if (child >= used_) break;
    if (child + 1 < used_ && entries_[order_[child + 1]].count < entries_[order_[child]].count)
      ++child;
    if (entries_[order_[child]].count >= count) break;
    put(place, order_[child]);
    place = child;
  }
  put(place, moved);
}

void TopKeys::move_up(std::size_t place) noexcept {
  const std::uint16_t moved = order_[place];
  const std::uint64_t count = entries_[moved].count;
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (entries_[order_[parent]].count <= count) break;
    put(place, order_[parent]);
    place = parent;
  }
  put(place, moved);
}

// --- two that take turns ---------------------------------------------------------------------

void RecentKeys::turn(Clock::time_point now) noexcept {
  if (now < started_ + window) [[likely]] {
    return;
  }
  const bool long_ago = now >= started_ + 2 * window;
  turn_ = 1 - turn_;
  current().clear();
  if (long_ago) previous().clear();
  have_previous_ = !long_ago;
  started_ = long_ago ? now : started_ + window;
}

RecentKeys::Top RecentKeys::top(Clock::time_point now, double least_share) {
  turn(now);
  Top top;
  top.calls = current().calls + previous().calls;
  top.time = now - started_ + (have_previous_ ? window : std::chrono::seconds(0));
  const auto calls = static_cast<double>(top.calls);
  const auto take = [&](const TopKeys::Entry& entry, std::uint64_t others) {
    const std::uint64_t at_least = std::min(entry.at_least() + others, top.calls);
    const auto n = static_cast<double>(at_least);
    if (at_least == 0 || n < least_share * calls) return;
    // What is looked at is chosen by chance. Four standard deviations keep out all of the some
    // 2 / least_share keys that can have nearly half of it.
    if (n - 4 * std::sqrt(n) < least_share / 2 * calls) return;
    top.keys.push_back({entry.key, entry.slot(), at_least});
  };
  for (const TopKeys::Entry& entry : current().keys) {
    const TopKeys::Entry* same = previous().keys.find(entry);
    take(entry, same != nullptr ? same->at_least() : 0);
  }
  for (const TopKeys::Entry& entry : previous().keys) {
    if (current().keys.find(entry) == nullptr) take(entry, 0);
  }
  std::sort(top.keys.begin(), top.keys.end(),
            [](const Key& a, const Key& b) { return a.calls > b.calls; });
  return top;
}

}  // namespace slotwise::observe
