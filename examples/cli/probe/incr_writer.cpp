// INCR: the writes of a block are increments of one counter.
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/probe/counter_watch.hpp"
#include "cli/probe/writer.hpp"

namespace slotwise::cli {

namespace {

constexpr std::uint64_t read_batch = 500;  // counters

class IncrWriter : public Writer {
 public:
  IncrWriter(const ProbeKeys& keys, int worker) : keys_(keys), worker_(worker) {}

  std::string key(std::uint64_t n) const override { return counter(n / block_size); }

  std::uint16_t prepare(std::uint64_t n) override {
    if (n % block_size == 0) begin_block(n / block_size);
    return slot_;
  }

  Result<void> send(const Client& client) override {
    const std::array<std::string_view, 2> words{"INCR", key_};
    const auto result = convert<std::int64_t>(client.command_words(words));
    if (!result) {
      if (!result.error().did_not_run()) watch_.unknown();
      return result.error();
    }
    watch_.acknowledged(*result);
    if (watch_.lost() > 0 || watch_.doubled() > 0) strange_[block_] = watch_;
    return {};
  }

  Found read_back(const Client& client, const Attempts& attempts,
                  const ReadProgress& progress) const override {
    Found found;
    const std::uint64_t blocks = (attempts.tried + block_size - 1) / block_size;
    bool go_on = true;
    for (std::uint64_t first = 0; first < blocks && go_on; first += read_batch) {
      const std::uint64_t end = std::min(first + read_batch, blocks);
      check(client, attempts, first, end, found);
      go_on = progress(attempts.acked(first * block_size, end * block_size));
    }
    return found;
  }

 private:
  static constexpr std::uint64_t block_size = ProbeKeys::block_size;

  std::string counter(std::uint64_t block) const {
    return keys_.counter(keys_.head(worker_, block));
  }

  void begin_block(std::uint64_t block) {
    block_ = block;
    key_ = counter(block);
    slot_ = slot(key_);
    watch_ = {};
  }

  /// Reads the counters of the blocks [first, end).
  void check(const Client& client, const Attempts& attempts, std::uint64_t first, std::uint64_t end,
             Found& found) const {
    Pipeline pipeline = client.pipeline();
    for (std::uint64_t block = first; block < end; ++block)
      (void)pipeline.get(counter(block));
    PipelineResults results = pipeline.exec();
    for (std::uint64_t block = first; block < end; ++block) {
      const auto read = results.get<std::optional<std::int64_t>>(block - first);
      judge(block, attempts, read, found);
    }
  }

  void judge(std::uint64_t block, const Attempts& attempts,
             const Result<std::optional<std::int64_t>>& read, Found& found) const {
    const std::uint64_t first = block * block_size;
    const std::uint64_t end = std::min(first + block_size, attempts.tried);
    const std::uint64_t acked = attempts.acked(first, end);
    if (!read && read.error().code() == ErrorCode::type_mismatch) {
      ++found.wrong;  // somebody else wrote a value that is no count
      return;
    }
    if (!read) {
      found.unread += acked;
      if (found.failure.empty()) found.failure = describe(read.error());
      return;
    }
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(read->value_or(0), 0));
    CounterVerdict verdict = judge_counter(acked, attempts.unknowns.count(first, end), value);
    // What was seen on the way may have been evened out since: one lost, another one doubled.
    if (const auto seen = strange_.find(block); seen != strange_.end()) {
      verdict.lost = std::max(verdict.lost, seen->second.lost());
      verdict.doubled = std::max(verdict.doubled, seen->second.doubled());
    }
    found.sum += value;
    found.lost += verdict.lost;
    found.doubled += verdict.doubled;
    found.ran += verdict.ran;
  }

  const ProbeKeys& keys_;
  const int worker_;
  std::uint64_t block_ = 0;  // that is being written, as the next three
  std::string key_;
  std::uint16_t slot_ = 0;
  CounterWatch watch_;
  std::map<std::uint64_t, CounterWatch> strange_;  // by block
};

}  // namespace

std::unique_ptr<Writer> make_incr_writer(const ProbeKeys& keys, int worker) {
  return std::make_unique<IncrWriter>(keys, worker);
}

}  // namespace slotwise::cli
