// One slot moved by hand, in steps, so that a test can stop in the middle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace slotwise::kit {

class Cluster;

/// The slot is IMPORTING on the target and MIGRATING on the source from construction on: the source
/// answers ASK for keys it has not, TRYAGAIN for a multi-key command whose keys are on both sides.
///
///   auto move = cluster.begin_migration(cluster.slot_of("{t}1"), to);
///   move.move_key("{t}1");      // MGET {t}1 {t}2 is TRYAGAIN now, GET {t}1 is ASK
///   move.finish();              // the rest of the keys, SETSLOT NODE everywhere
///
/// Without finish() or cancel() the slot stays half moved: also when the object goes.
/// Thread rule: use one SlotMigration from one thread at a time.
class SlotMigration {
 public:
  enum class Step : std::uint8_t {
    marked,       ///< IMPORTING and MIGRATING set, no key moved
    half_moved,   ///< half of the keys moved (only if there are two or more)
    moved,        ///< all keys moved, owner not changed yet
    target_owns,  ///< the target owns it and knows, nobody else has been told
    finished,
  };

  using Between = std::function<void(int slot, Step)>;

  SlotMigration(Cluster& cluster, int slot, std::size_t from, std::size_t to);

  /// For a slot that is IMPORTING and MIGRATING already.
  static SlotMigration marked(Cluster& cluster, int slot, std::size_t from, std::size_t to);

  int slot() const noexcept { return slot_; }
  std::size_t from() const noexcept { return from_; }
  std::size_t to() const noexcept { return to_; }

  std::size_t keys_left() const;
  /// Moves up to `limit` keys; the number moved.
  std::size_t move_keys(std::size_t limit = SIZE_MAX);
  void move_key(std::string_view key);
  /// Moves what is left, then SETSLOT NODE at the target, the source and all other primaries.
  void finish(const Between& between = {});
  /// SETSLOT STABLE on both; keys that were moved are moved back. In between the source answers for
  /// them as if they were gone (servers have no way back without that moment).
  void cancel();

 private:
  struct Marked {};
  SlotMigration(Cluster& cluster, int slot, std::size_t from, std::size_t to, Marked);
  void migrate_keys(std::size_t source, std::size_t target, const std::vector<std::string>& keys);
  std::vector<std::string> some_keys(std::size_t node, std::size_t limit) const;

  Cluster* cluster_;
  int slot_;
  std::size_t from_;
  std::size_t to_;
  std::string from_id_;
  std::string to_id_;
};

}  // namespace slotwise::kit
