// Builds a reply of any shape out of the values that came: once, in our type
// and in place.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/reply.hpp>

#include "base/reply_access.hpp"
#include "resp/token.hpp"

namespace slotwise::resp {

/// 1. What it is given was checked before: lengths, counts, line ends.
/// Attributes were left out.
/// 2. Room for members is made as values come, not as a header claims: for
/// `first_room` of them,
///    then for as many again as there are.
/// 3. Only the innermost open aggregate grows, so pointers to the others stay
/// good.
class TreeBuilder {
 public:
  using Type = Reply::Type;

  explicit TreeBuilder(int max_depth) noexcept : max_depth_(static_cast<std::size_t>(max_depth)) {}
  TreeBuilder(const TreeBuilder&) = delete;
  TreeBuilder& operator=(const TreeBuilder&) = delete;

  // --- the next value of the reply; all may throw std::bad_alloc ---
  void add_text(Type type, std::string_view text) {
    ReplyAccess::set_text(*next_, type, std::string(text));
    advance();
  }
  void add_integer(std::int64_t value) {
    ReplyAccess::set<std::int64_t>(*next_, Type::integer, value);
    advance();
  }
  void add_nil() { advance(); }
  void add(Reply&& value) {
    *next_ = std::move(value);
    advance();
  }
  /// An aggregate that `count` values belong to. False: see fault().
  bool open(Type type, std::size_t count);
  /// Any value that is one token. False: see fault().
  bool add(const Token& token);

  /// True when the value begun is whole.
  bool done() const noexcept { return next_ == nullptr; }
  /// The whole value, once; makes ready for the next.
  void take(Reply& out) noexcept;

  const std::string& fault() const noexcept { return fault_; }
  void clear() noexcept;

 private:
  static constexpr std::size_t first_room = 64;

  /// An aggregate of which values are still to come.
  struct Open {
    std::vector<Reply>* members;
    std::size_t missing;  ///< values for which there is no room yet
    Reply* outer_next;    ///< itself, among the members of the aggregate around it
    Reply* outer_end;
  };

  void advance() {
    if (++next_ == end_) use_up();
  }
  void use_up();
  void grow(Open& innermost);
  bool fail(std::string text);
  void start_anew() noexcept;

  std::size_t max_depth_;
  std::vector<Open> open_;  ///< the innermost is the last
  Reply root_;
  Reply* next_ = &root_;     ///< where the next value belongs: null there; no
                             ///< place: all is done
  Reply* end_ = &root_ + 1;  ///< of the room around it
  std::string fault_;
};

}  // namespace slotwise::resp
