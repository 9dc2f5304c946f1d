#include <slotwise/pipeline.hpp>

#include <atomic>
#include <stdexcept>
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
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_.error(i) != nullptr) return false;
  }
  return true;
}

void PipelineResults::no_such_result() {
  throw std::out_of_range("a pipeline has no result of this number");
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
  routing::Batch& batch = *state_->batch;
  routing::Batch::Member& member = batch.add();
  if (auto error = state_->core->prepare(member, call, state_->options)) {
    batch.refuse_last(std::move(*error));
  } else {
    batch.encode(member, detail::head_of(call), call.words);
  }
  return batch.size() - 1;
}

PipelineResults Pipeline::exec() {
  routing::Batch& batch = *state_->batch;
  if (batch.size() > 0) state_->core->run(batch, state_->finished);
  PipelineResults results(batch.take_results());
  batch.clear();
  state_->finished.store(0);
  return results;
}

}  // namespace slotwise
