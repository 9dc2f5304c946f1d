// Streams: the basics. Consumer groups are had by `command<T>("XREADGROUP", ...)`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/args.hpp>
#include <slotwise/commands/time.hpp>
#include <slotwise/commands/words.hpp>
#include <slotwise/convert.hpp>
#include <slotwise/detail/call.hpp>
#include <slotwise/export.hpp>

namespace slotwise {

/// One entry of a stream. A deleted entry that a consumer group still lists has no fields.
struct StreamEntry {
  std::string id;
  std::vector<std::pair<std::string, std::string>> fields;

  friend bool operator==(const StreamEntry&, const StreamEntry&) = default;
};

struct SLOTWISE_API XAddOptions {
  std::string_view id = "*";                    ///< "*": the server makes it from its clock
  std::optional<std::int64_t> max_length = {};  ///< then removes the oldest entries above this
  bool exact = false;  ///< exactly max_length; else whole blocks only, which is much cheaper

  void append_to(Args& args) const;
};

struct SLOTWISE_API XReadOptions {
  std::optional<std::int64_t> count = {};  ///< entries of each stream
  /// Waits that long for an entry (zero: for ever). Blocking, see ListCommands.
  std::optional<Duration> wait = {};

  void append_to(Args& args) const;
};

namespace detail {
template <>
struct SLOTWISE_API Converter<StreamEntry> {
  static Result<StreamEntry> from(Reply&& r);
};
struct SLOTWISE_API MaxLength {
  std::int64_t length;
  bool exact;
  void append_to(Args& args) const;
};
struct SLOTWISE_API Count {
  const std::optional<std::int64_t>& count;
  void append_to(Args& args) const;
};
struct Apart {
  const Fields& fields;
  void append_to(Args& args) const { fields.append_apart(args); }
};
}  // namespace detail

template <class Face>
class StreamCommands {
 public:
  using StreamEntries = std::vector<StreamEntry>;

  /// Adds an entry, and gives its id. (XADD)
  auto xadd(std::string_view key, Fields fields, const XAddOptions& options = {}) const {
    return detail::call<std::string, "XADD">(*this, key, options, fields);
  }
  /// Number of entries; 0: no such key. (XLEN)
  auto xlen(std::string_view key) const { return detail::call<std::int64_t, "XLEN">(*this, key); }
  /// The entries from `first` to `last` inclusive, at most `count`; "(" before an id excludes it.
  /// (XRANGE)
  auto xrange(std::string_view key, std::string_view first = "-", std::string_view last = "+",
              std::optional<std::int64_t> count = {}) const {
    return detail::call<StreamEntries, "XRANGE">(*this, key, first, last, detail::Count{count});
  }
  /// The entries from `last` down to `first` inclusive, at most `count`. (XREVRANGE)
  auto xrevrange(std::string_view key, std::string_view last = "+", std::string_view first = "-",
                 std::optional<std::int64_t> count = {}) const {
    return detail::call<StreamEntries, "XREVRANGE">(*this, key, last, first, detail::Count{count});
  }
  /// The entries after the given ids, `xread({{"stream", "0"}})`, of streams of one slot; only
  /// streams that have some are in the reply. "$" is the last id at the time of the call, which
  /// makes sense only with XReadOptions::wait. (XREAD)
  auto xread(Fields streams, const XReadOptions& options = {}) const {
    return detail::call<std::vector<std::pair<std::string, StreamEntries>>, "XREAD">(
        *this, options, "STREAMS", detail::Apart{streams});
  }
  /// Deletes entries, and gives how many there were. (XDEL)
  auto xdel(std::string_view key, Words ids) const {
    return detail::call<std::int64_t, "XDEL">(*this, key, ids);
  }
  /// Removes the oldest entries above `max_length`, and gives how many. Not `exact`: whole blocks
  /// only, which is much cheaper. (XTRIM MAXLEN)
  auto xtrim(std::string_view key, std::int64_t max_length, bool exact = false) const {
    return detail::call<std::int64_t, "XTRIM">(*this, key, detail::MaxLength{max_length, exact});
  }
};

}  // namespace slotwise
