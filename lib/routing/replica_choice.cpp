#include "routing/replica_choice.hpp"

namespace slotwise::routing {
namespace {

constexpr std::size_t nobody = ~std::size_t{0};
constexpr std::size_t primary = 0;

/// Those from `first` on that are fit take turns.
template <class Fit>
std::size_t in_turn(std::span<const ReadCandidate> shard, std::size_t first, std::uint32_t turn,
                    const Fit& fit) noexcept {
  std::size_t count = 0;
  for (std::size_t i = first; i < shard.size(); ++i)
    count += fit(shard[i]) ? 1 : 0;
  if (count == 0) return nobody;
  std::size_t left = turn % count;
  for (std::size_t i = first; i < shard.size(); ++i) {
    if (fit(shard[i]) && left-- == 0) return i;
  }
  return nobody;
}

std::size_t or_primary(std::size_t choice) noexcept {
  return choice == nobody ? primary : choice;
}

std::size_t nearest(std::span<const ReadCandidate> shard) noexcept {
  std::size_t best = nobody;
  for (std::size_t i = 0; i < shard.size(); ++i) {
    if (!shard[i].usable || shard[i].round_trip.count() == 0) continue;
    if (best == nobody || shard[i].round_trip < shard[best].round_trip) best = i;
  }
  return or_primary(best);
}

}  // namespace

std::size_t choose_reader(ReadFrom how, std::span<const ReadCandidate> shard,
                          std::uint32_t turn) noexcept {
  const auto usable = [](const ReadCandidate& c) { return c.usable; };
  const auto near = [](const ReadCandidate& c) { return c.usable && c.same_zone; };
  switch (how) {
    case ReadFrom::primary:
      return primary;
    case ReadFrom::any:
      return or_primary(in_turn(shard, 0, turn, usable));
    case ReadFrom::lowest_latency:
      return nearest(shard);
    case ReadFrom::same_zone:
      if (const std::size_t replica = in_turn(shard, 1, turn, near); replica != nobody) {
        return replica;
      }
      if (!shard.empty() && near(shard[primary])) return primary;
      [[fallthrough]];
    case ReadFrom::replica_preferred:
      return or_primary(in_turn(shard, 1, turn, usable));
  }
  return primary;
}

}  // namespace slotwise::routing
