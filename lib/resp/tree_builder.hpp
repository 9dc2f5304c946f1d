// Builds aggregates: hiredis's reader with our own object functions, so that a reply is made once,
// in our type and in place.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <slotwise/reply.hpp>

struct redisReader;

namespace slotwise::resp {

/// 1. It is given whole tokens only, in runs of bounded size, so that the reader's own buffer stays
///    small and no byte is searched twice.
/// 2. The lengths and counts of the tokens were checked before.
/// 3. While one is being built, elements are only added at the end of the innermost open aggregate,
///    so a pointer to an open one stays good although the vectors grow.
class TreeBuilder {
 public:
  explicit TreeBuilder(int max_depth) noexcept : max_depth_(max_depth) {}

  /// Goes on with the reply. False: see fault().
  bool feed(const char* data, std::size_t size);
  /// One string value that does not pass through the reader: its bytes are moved into place.
  bool feed_text(Reply text);
  /// True when the value begun is whole.
  bool done() const noexcept { return done_; }
  /// The whole value, once; makes ready for the next.
  void take(Reply& out) noexcept;

  const std::string& fault() const noexcept { return fault_; }
  void clear() noexcept;

 private:
  struct Functions;
  struct FreeReader {
    void operator()(redisReader* reader) const noexcept;
  };

  std::unique_ptr<redisReader, FreeReader> reader_;  ///< made when the first aggregate comes
  int max_depth_;
  bool done_ = false;
  Reply root_;
  Reply* stand_in_ = nullptr;  ///< takes the place of the next string
  std::string fault_;
};

}  // namespace slotwise::resp
