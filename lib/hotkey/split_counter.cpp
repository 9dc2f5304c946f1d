#include <utility>

#include <slotwise/hotkey.hpp>

#include "hotkey/counter.hpp"
#include "hotkey/shared.hpp"

namespace slotwise::hotkey {

SplitCounter::SplitCounter(std::shared_ptr<Shared> shared, std::shared_ptr<KeyState> state) noexcept
    : shared_(std::move(shared)), state_(std::move(state)) {}

const std::string& SplitCounter::key() const noexcept {
  return state_->key();
}

void SplitCounter::incr(std::int64_t by) const {
  add(*shared_, *state_, by).value();
}

std::int64_t SplitCounter::read() const {
  return sum(*shared_, *state_).value();
}

}  // namespace slotwise::hotkey
