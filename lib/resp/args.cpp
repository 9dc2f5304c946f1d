#include <slotwise/args.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace slotwise {
namespace {

// Digits, sign, point and exponent of any 64-bit integer or double.
constexpr std::size_t longest_number = 32;

}  // namespace

struct Args::Kept {
  std::string text;
  Kept* next;
};

void Args::drop_kept() noexcept {
  while (kept_ != nullptr)
    delete std::exchange(kept_, kept_->next);
}

void Args::grow() {
  const std::size_t capacity = capacity_ * 2;
  auto larger = std::make_unique<std::string_view[]>(capacity);
  std::copy_n(words_, size_, larger.get());
  heap_ = std::move(larger);
  words_ = heap_.get();
  capacity_ = capacity;
}

Args& Args::add_copy(std::string_view word) {
  if (word.size() > sizeof(scratch_) - scratch_used_) {
    keep(std::string(word));
    return *this;
  }
  char* const to = scratch_ + scratch_used_;
  if (!word.empty()) std::memcpy(to, word.data(), word.size());
  push({to, word.size()});
  scratch_used_ += word.size();
  return *this;
}

void Args::keep(std::string&& text) {
  kept_ = new Kept{std::move(text), kept_};
  push(kept_->text);
}

template <class T>
void Args::write_number(T value) {
  char text[longest_number];
  const char* const end = std::to_chars(text, text + sizeof(text), value).ptr;
  add_copy({text, static_cast<std::size_t>(end - text)});
}

void Args::number(std::int64_t value) {
  write_number(value);
}
void Args::number(std::uint64_t value) {
  write_number(value);
}
void Args::number(double value) {
  write_number(value);
}
void Args::number(float value) {
  write_number(value);
}

}  // namespace slotwise
