#include "resp/large_bulk.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace slotwise::resp {
namespace {

constexpr std::size_t growth = 16;
// std::string writes zeros into new room. Done in pieces that stay in the cache until the read
// fills them, that costs little; done at once it would cost one more pass over the memory.
constexpr std::size_t piece = 256 * 1024;

}  // namespace

void LargeBulk::start(char type, std::size_t length, std::span<const char> first) {
  type_ = type;
  received_ = 0;
  text_.clear();
  total_ = length + 2;
  grow(std::max(first.size(), std::min(total_, threshold)));
  std::memcpy(text_.data(), first.data(), first.size());
  received_ = first.size();
}

std::span<char> LargeBulk::prepare() {
  if (received_ == text_.size()) grow(std::min(total_, received_ + piece));
  return {text_.data() + received_, text_.size() - received_};
}

void LargeBulk::grow(std::size_t size) {
  if (size > text_.capacity()) {
    // Not text_.reserve(): it doubles at least, and the last step is to be exact.
    std::string larger;
    larger.reserve(std::min(total_, std::max(size, received_ * growth)));
    larger.append(text_, 0, received_);
    text_ = std::move(larger);
  }
  text_.resize(size);
}

bool LargeBulk::take(std::string& text) {
  const bool ended = text_.ends_with("\r\n");
  text_.resize(total_ - 2);
  text = std::move(text_);
  clear();
  return ended;
}

void LargeBulk::clear() noexcept {
  text_ = std::string();
  received_ = total_ = 0;
}

}  // namespace slotwise::resp
