// The replies of one pipeline, in one piece of memory.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slotwise/error.hpp>
#include <slotwise/export.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/reply_view.hpp>
#include <slotwise/result.hpp>

namespace slotwise::detail {

/// Texts that are not long lie one behind the other, so that taking a reply costs a copy and no
/// allocation; the string that the caller gets is made of them directly. What has members, is long
/// or failed stands for itself.
class SLOTWISE_API ReplyStore {
 public:
  /// `count` places, each with nil. `texts`: about so many bytes are expected.
  void start(std::size_t count, std::size_t texts = 0);
  std::size_t size() const noexcept { return entries_.size(); }

  /// Bytes of the texts that lie together.
  std::size_t texts() const noexcept { return texts_.size(); }

  /// A reply as it lies.
  void put(std::size_t i, ReplyView& reply);
  void put(std::size_t i, Result<Reply>&& result);

  /// Null: there is a value.
  const Error* error(std::size_t i) const noexcept {
    const Entry& e = entries_[i];
    return e.kind == Kind::whole && !*whole_[e.place] ? &whole_[e.place]->error() : nullptr;
  }
  /// Only of a value. Valid until something is put in; take() moves out of what is whole.
  ReplyView view(std::size_t i) noexcept;
  /// As a whole.
  const Result<Reply>& at(std::size_t i);

 private:
  enum class Kind : std::uint8_t { scalar, text, whole };
  struct Entry {
    Kind kind = Kind::scalar;
    Reply::Type type = Reply::Type::nil;
    std::uint32_t size = 0;
    std::uint64_t place = 0;  // in texts_ or whole_; of a scalar: its value
  };

  std::vector<Entry> entries_;
  std::string texts_;
  std::vector<std::unique_ptr<Result<Reply>>> whole_;
};

}  // namespace slotwise::detail
