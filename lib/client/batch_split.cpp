#include "client/batch_split.hpp"

#include <algorithm>
#include <utility>

#include "client/core.hpp"

namespace slotwise::detail {
namespace {

struct StartBatch : net::Task {
  routing::Batch* batch = nullptr;
  routing::Dispatcher* dispatcher = nullptr;

  void post_to(Engine& engine, routing::Batch& b) noexcept {
    batch = &b;
    dispatcher = &engine.dispatcher();
    run = [](net::Task* task) {
      auto& self = static_cast<StartBatch&>(*task);
      self.batch->start(*self.dispatcher);
    };
    engine.post(*this);
  }
};

/// The reply or error at `i` of one is `to`'s at `j`.
void hand_over(ReplyStore& from, std::size_t i, ReplyStore& to, std::size_t j) {
  if (const Error* error = from.error(i)) return to.put(j, *error);
  ReplyView reply = from.view(i);
  to.put(j, reply);
}

}  // namespace

struct BatchRun::Portion final : routing::BatchListener {
  Portion(BatchRun& r, Engine& e) : run(r), engine(e) {}

  void on_batch_done() override {
    // Unless it is the last one everything may be gone from here on.
    std::atomic<std::uint32_t>& finished = run.finished_;
    if (run.open_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    finished.store(1, std::memory_order_release);
    futex_wake(finished);
  }

  BatchRun& run;
  Engine& engine;
  routing::Batch batch{*this};
  std::vector<std::size_t> members;  // where they stand in the whole
  StartBatch start;
};

BatchRun::BatchRun(Core& core, routing::Batch& batch, bool ran,
                   std::atomic<std::uint32_t>& finished)
    : core_(core), batch_(batch), ran_(ran), finished_(finished) {}

BatchRun::~BatchRun() = default;

void BatchRun::run() {
  StartBatch whole;
  if (Engine* const engine = the_one_engine()) {
    if (ran_) batch_.was_run_in_place();
    whole.post_to(*engine, batch_);
  } else {
    split();
    open_.store(portions_.size(), std::memory_order_relaxed);
    for (const auto& portion : portions_)
      portion->start.post_to(portion->engine, portion->batch);
  }
  while (finished_.load(std::memory_order_acquire) == 0)
    futex_wait(finished_, 0);
  for (const auto& portion : portions_) {
    for (std::size_t i = 0; i < portion->members.size(); ++i)
      hand_over(portion->batch.results(), i, batch_.results(), portion->members[i]);
  }
}

/// Null: there are several.
Engine* BatchRun::the_one_engine() const {
  if (Engine* const only = core_.only_engine()) return only;
  Engine* first = nullptr;
  bool several = false;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const routing::Batch::Member& member = batch_.at(i);
    const bool spread = member.fan_out != nullptr;
    if (!spread && (member.target != routing::Target::slot || member.answered)) continue;
    Engine& engine = core_.engine_of(member.slot);
    if (first == nullptr) first = &engine;
    if (spread) return first;
    several = several || first != &engine;
  }
  if (several) return nullptr;
  return first != nullptr ? first : &core_.engine_of(0);
}

void BatchRun::split() {
  bool writes = false;
  Engine* engine = nullptr;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const routing::Batch::Member& member = batch_.at(i);
    writes = writes || !member.read_only;
    if (member.answered) continue;  // refused before it was sent
    // What has no key goes with what was before it.
    if (member.target == routing::Target::slot || engine == nullptr) {
      engine = &core_.engine_of(member.slot);
    }
    Portion& portion = portion_of(*engine);
    portion.members.push_back(i);
    portion.batch.add_copy(batch_, i);
  }
  for (const auto& portion : portions_) {
    routing::Batch& part = portion->batch;
    part.seal();
    if (ran_) part.was_run_in_place();
    for (std::size_t i = 0; i < part.size(); ++i) {
      // The rule for pipelines with a write, of which the part may have none.
      if (writes) part.at(i).read_from = ReadFrom::primary;
      if (ran_) hand_over(batch_.results(), portion->members[i], part.results(), i);
    }
  }
}

BatchRun::Portion& BatchRun::portion_of(Engine& engine) {
  const auto found = std::find_if(portions_.begin(), portions_.end(),
                                  [&](const auto& p) { return &p->engine == &engine; });
  if (found != portions_.end()) return **found;
  return *portions_.emplace_back(std::make_unique<Portion>(*this, engine));
}

}  // namespace slotwise::detail
