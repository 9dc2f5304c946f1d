#include <utility>

#include <slotwise/hotkey.hpp>

#include "hotkey/reading.hpp"
#include "hotkey/shared.hpp"
#include "hotkey/writing.hpp"

namespace slotwise::hotkey {
namespace {

using OrderKind = WriteOrder::Kind;
using std::chrono::milliseconds;

milliseconds positive(milliseconds ttl) {
  if (ttl.count() > 0) return ttl;
  throw Error(ErrorCode::invalid_argument, Outcome::not_sent,
              "a time to live must be at least a millisecond");
}

}  // namespace

std::string_view to_string(CopyWrite::State state) noexcept {
  switch (state) {
    case CopyWrite::State::written:
      return "written";
    case CopyWrite::State::newer:
      return "newer";
    case CopyWrite::State::failed:
      return "failed";
    case CopyWrite::State::pending:
      return "pending";
  }
  return "unknown";
}

SplitKey::SplitKey(std::shared_ptr<Shared> shared, std::shared_ptr<KeyState> state) noexcept
    : shared_(std::move(shared)), state_(std::move(state)) {}

const std::string& SplitKey::key() const noexcept {
  return state_->key();
}

std::optional<std::string> SplitKey::get() const {
  return std::move(read(*shared_, state_).value().value);
}

VersionedValue SplitKey::get_with_version() const {
  return read(*shared_, state_).value();
}

void SplitKey::get(std::function<void(Result<VersionedValue>)> done) const {
  read(shared_, state_, std::move(done));
}

WriteResult SplitKey::set(std::string_view value) const {
  return write(*shared_, state_, {.kind = OrderKind::set, .value = std::string(value)}).value();
}

WriteResult SplitKey::set(std::string_view value, milliseconds ttl) const {
  return write(*shared_, state_,
               {.kind = OrderKind::set, .value = std::string(value), .expires_in = positive(ttl)})
      .value();
}

WriteResult SplitKey::del() const {
  return write(*shared_, state_, {.kind = OrderKind::del, .value = {}}).value();
}

WriteResult SplitKey::expire(milliseconds ttl) const {
  return write(*shared_, state_,
               {.kind = OrderKind::expire, .value = {}, .expires_in = positive(ttl)})
      .value();
}

WriteResult SplitKey::persist() const {
  return write(*shared_, state_, {.kind = OrderKind::persist, .value = {}}).value();
}

}  // namespace slotwise::hotkey
