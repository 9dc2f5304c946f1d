#include "cli/load/lane.hpp"

#include <fmt/format.h>

#include <utility>

namespace slotwise::cli {

Load::Lane::Lane(Load& load, int number)
    : load_(load),
      async_(load.client_.async()),
      // Not a multiple of splitmix64's own step: lanes would follow each other through one
      // sequence.
      random_state_(0xd1342543de82ef95U * (static_cast<std::uint64_t>(number) + 1)) {}

std::uint64_t Load::Lane::random() noexcept {  // splitmix64
  std::uint64_t z = (random_state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

bool Load::Lane::prepare() {
  if (load_.stop_.load(std::memory_order_relaxed)) {
    load_.lane_ended();
    return false;
  }
  const LoadOptions& options = load_.options_;
  const auto end =
      fmt::format_to_n(key_.data(), key_.size(), "{}:{}", options.prefix, random() % options.keys)
          .out;
  const std::string_view key(key_.data(), static_cast<std::size_t>(end - key_.data()));
  const bool set = random() % (options.sets + options.gets) < options.sets;
  words_ = {set ? "SET" : "GET", key, load_.value_};
  word_count_ = set ? 3 : 2;
  slot_ = slot(key);
  sent_ = std::chrono::steady_clock::now();
  return true;
}

bool Load::Lane::completed(const Result<Reply>& result) {
  return load_.count(slot_, word_count_ == 3, result, sent_);
}

void Load::Lane::drive() {
  do {
    if (std::exchange(pause_, false)) {
      load_.park(*this);
      return;
    }
    if (!prepare()) return;
    turn_.store(Turn::calling, std::memory_order_relaxed);
    async_.command_words(words()).then([this](const Result<Reply>& result) {
      pause_ = !completed(result);
      if (turn_.exchange(Turn::completed) == Turn::left) drive();
    });
  } while (turn_.exchange(Turn::left) == Turn::completed);
}

}  // namespace slotwise::cli
