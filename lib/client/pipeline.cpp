#include <slotwise/pipeline.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

#include "client/core.hpp"

namespace slotwise {

struct Pipeline::State final : routing::BatchListener {
  State(std::shared_ptr<detail::Core> c, CallOptions o)
      : core(std::move(c)), options(std::move(o)), batch(std::make_unique<routing::Batch>(*this)) {}

  void on_batch_done() override {
    finished.store(1, std::memory_order_release);
    detail::futex_wake(finished);
  }

  std::shared_ptr<detail::Core> core;
  CallOptions options;
  std::unique_ptr<routing::Batch> batch;
  std::atomic<std::uint32_t> finished{0};
};

bool PipelineResults::all_ok() const noexcept {
  return std::all_of(results_.begin(), results_.end(),
                     [](const Result<Reply>& r) { return r.has_value(); });
}

Pipeline::Pipeline(std::shared_ptr<detail::Core> core, CallOptions options)
    : state_(std::make_unique<State>(std::move(core), std::move(options))) {}
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;
Pipeline::~Pipeline() = default;

std::size_t Pipeline::size() const noexcept {
  return state_->batch->size();
}

std::size_t Pipeline::add(const detail::CallSpec& call) const {
  const std::size_t index = state_->batch->size();
  routing::Batch::Member& member = state_->batch->add();
  if (auto error = state_->core->prepare(member, call, state_->options)) {
    member.result.emplace(std::move(*error));
  }
  return index;
}

PipelineResults Pipeline::exec() {
  std::vector<Result<Reply>> results;
  results.reserve(size());
  if (size() > 0) state_->core->run(*state_->batch, state_->finished);
  for (std::size_t i = 0; i < size(); ++i) {
    results.push_back(std::move(*state_->batch->at(i).result));
  }
  state_->batch->clear();
  state_->finished.store(0);
  return PipelineResults(std::move(results));
}

}  // namespace slotwise
