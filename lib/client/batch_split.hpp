// A pipeline on its way through the loops: as it is if all its commands belong to one engine, else
// as a batch of its own for each of them.
//
// Thread rule: the caller's thread, which waits for its end.
//
// That may be done because the order of a batch is about commands that share a key, and these have
// a slot and so an engine in common. A command over several slots has not: it keeps all of its
// batch together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/engine.hpp"
#include "routing/batch.hpp"

namespace slotwise::detail {

class Core;

class BatchRun {
 public:
  /// `finished` is what the batch's own listener sets to 1. `ran`: it was sent in place, and what
  /// came back is to be judged.
  BatchRun(Core& core, routing::Batch& batch, bool ran, std::atomic<std::uint32_t>& finished);
  ~BatchRun();
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;

  /// Returns when all results are in the batch.
  void run();

 private:
  struct Portion;

  Engine* the_one_engine() const;
  void split();
  Portion& portion_of(Engine& engine);

  Core& core_;
  routing::Batch& batch_;
  const bool ran_;
  std::atomic<std::uint32_t>& finished_;
  std::vector<std::unique_ptr<Portion>> portions_;
  std::atomic<std::size_t> open_{0};  // portions that have not ended
};

}  // namespace slotwise::detail
