// SET: every write has a key and a value of its own.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/probe/writer.hpp"

namespace slotwise::cli {

namespace {

constexpr std::uint64_t read_batch = 500;
static_assert(ProbeKeys::block_size % read_batch == 0, "a batch of keys lies in one slot");

class SetWriter : public Writer {
 public:
  SetWriter(const ProbeKeys& keys, int worker) : keys_(keys), worker_(worker) {}

  std::string key(std::uint64_t n) const override {
    return ProbeKeys::single(keys_.head(worker_, n / ProbeKeys::block_size), n);
  }

  std::uint16_t prepare(std::uint64_t n) override {
    if (n % ProbeKeys::block_size == 0) head_ = keys_.head(worker_, n / ProbeKeys::block_size);
    key_ = ProbeKeys::single(head_, n);
    value_ = value(n);
    return slot(key_);
  }

  Result<void> send(const Client& client) override {
    const std::array<std::string_view, 3> words{"SET", key_, value_};
    return convert<void>(client.command_words(words));
  }

  Found read_back(const Client& client, const Attempts& attempts,
                  const ReadProgress& progress) const override {
    Found found;
    bool go_on = true;
    for (std::uint64_t first = 0; first < attempts.tried && go_on; first += read_batch) {
      const std::uint64_t end = std::min(first + read_batch, attempts.tried);
      go_on = progress(check(client, attempts, first, end, found));
    }
    return found;
  }

 private:
  /// Unique per run and key, so that a value of another run or another key is seen.
  std::string value(std::uint64_t n) const {
    return fmt::format("{}:{}:{}", keys_.run(), worker_, n);
  }

  /// Reads the acknowledged keys of [first, end); how many there are.
  std::uint64_t check(const Client& client, const Attempts& attempts, std::uint64_t first,
                      std::uint64_t end, Found& found) const {
    const std::string head = keys_.head(worker_, first / ProbeKeys::block_size);
    Pipeline pipeline = client.pipeline();
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t n = first; n < end; ++n) {
      if (attempts.failures.contains(n)) continue;
      (void)pipeline.get(ProbeKeys::single(head, n));
      numbers.push_back(n);
    }
    if (numbers.empty()) return 0;
    PipelineResults results = pipeline.exec();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto read = results.get<std::optional<std::string>>(i);
      if (!read) {
        ++found.unread;
        if (found.failure.empty()) found.failure = describe(read.error());
      } else if (!*read) {
        ++found.lost;
      } else if (**read != value(numbers[i])) {
        ++found.wrong;
      }
    }
    return numbers.size();
  }

  const ProbeKeys& keys_;
  const int worker_;
  std::string head_;  // of the block that is being written
  std::string key_;
  std::string value_;
};

}  // namespace

std::unique_ptr<Writer> make_set_writer(const ProbeKeys& keys, int worker) {
  return std::make_unique<SetWriter>(keys, worker);
}

void Found::add(const Found& other) {
  lost += other.lost;
  wrong += other.wrong;
  doubled += other.doubled;
  unread += other.unread;
  sum += other.sum;
  ran += other.ran;
  if (failure.empty()) failure = other.failure;
}

std::string describe(const Error& error) {
  return fmt::format("{} ({}): {}", to_string(error.code()), to_string(error.outcome()),
                     error.message());
}

}  // namespace slotwise::cli
