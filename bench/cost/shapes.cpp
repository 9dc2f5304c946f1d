#include "shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace slotwise::bench {

namespace {

constexpr std::size_t value_size = 64;
constexpr std::uint64_t pipeline_size = 64;

void expect(bool right) {
  if (!right) throw std::runtime_error("a reply has a wrong value");
}

void sync_get(Client& client, const Data& data, std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::optional<std::string> value = client.get(data.keys[i % data.keys.size()]);
    expect(value && value->size() == value_size);
  }
}

void sync_set(Client& client, const Data& data, std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i)
    client.set(data.keys[i % data.keys.size()], data.value);
}

/// Keeps some operations in flight: the end of each starts the next, on the loop's thread.
/// Started by the main thread, so the two share `started` for a moment.
class Flight {
 public:
  Flight(Client& client, const Data& given, std::uint64_t operations)
      : async(client.async()), data(given), operations_(operations) {}

  /// The key of the next operation; null when enough were started.
  const std::string* next_key() {
    const std::uint64_t i = started_.fetch_add(1, std::memory_order_relaxed);
    return i < operations_ ? &data.keys[i % data.keys.size()] : nullptr;
  }
  void one_done(bool right) {
    if (!right) wrong_.store(true, std::memory_order_relaxed);
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == operations_) {
      finished_.store(true, std::memory_order_release);
      finished_.notify_one();
    }
  }
  void wait() {
    finished_.wait(false, std::memory_order_acquire);
    expect(!wrong_.load(std::memory_order_relaxed));
  }

  const Async async;
  const Data& data;

 private:
  std::uint64_t operations_;
  std::atomic<std::uint64_t> started_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> wrong_{false};
  std::atomic<bool> finished_{false};
};

void start_get(Flight& flight) {
  if (const std::string* key = flight.next_key()) {
    flight.async.get(*key).then([&flight](const Result<std::optional<std::string>>& result) {
      const bool right = result.has_value() && *result && (*result)->size() == value_size;
      start_get(flight);
      flight.one_done(right);
    });
  }
}

void start_get_view(Flight& flight) {
  if (const std::string* key = flight.next_key()) {
    flight.async.get(*key).then_view([&flight](const Result<ReplyView>& result) {
      const bool right = result.has_value() && result->text().size() == value_size;
      start_get_view(flight);
      flight.one_done(right);
    });
  }
}

void start_set(Flight& flight) {
  if (const std::string* key = flight.next_key()) {
    flight.async.set(*key, flight.data.value).then([&flight](const auto& result) {
      const bool right = result.has_value();
      start_set(flight);
      flight.one_done(right);
    });
  }
}

template <void (*start)(Flight&)>
void fly(Client& client, const Data& data, std::uint64_t operations) {
  Flight flight(client, data, operations);
  for (std::uint64_t i = 0; i < std::min(data.in_flight, operations); ++i)
    start(flight);
  flight.wait();
}

/// Runs at once and is forgotten when it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached get_all(Flight& flight) {
  const std::string* key = flight.next_key();
  while (key != nullptr) {
    const Result<std::optional<std::string>> result = co_await flight.async.get(*key);
    const bool right = result.has_value() && *result && (*result)->size() == value_size;
    key = flight.next_key();
    flight.one_done(right);  // after the last of these the flight may be gone
  }
}

void start_coroutine(Flight& flight) {
  get_all(flight);
}

void pipeline_get(Client& client, const Data& data, std::uint64_t operations) {
  Pipeline pipeline = client.pipeline();
  for (std::uint64_t done = 0; done < operations;) {
    const std::uint64_t count = std::min(pipeline_size, operations - done);
    for (std::uint64_t i = 0; i < count; ++i)
      pipeline.get(data.keys[(done + i) % data.keys.size()]);
    PipelineResults results = pipeline.exec();
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = results.get<std::optional<std::string>>(i);
      expect(value.has_value() && *value && (*value)->size() == value_size);
    }
    done += count;
  }
}

void pipeline_set(Client& client, const Data& data, std::uint64_t operations) {
  Pipeline pipeline = client.pipeline();
  for (std::uint64_t done = 0; done < operations;) {
    const std::uint64_t count = std::min(pipeline_size, operations - done);
    for (std::uint64_t i = 0; i < count; ++i)
      pipeline.set(data.keys[(done + i) % data.keys.size()], data.value);
    expect(pipeline.exec().all_ok());
    done += count;
  }
}

/// For serve_large_map: every answer is another map.
void refresh(Client& client, const Data&, std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i)
    client.refresh().value();
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"sync-get", sync_get},
      {"sync-set", sync_set},
      {"async-get", fly<start_get>, 256},
      {"async-get-32", fly<start_get>, 32},
      {"async-get-view", fly<start_get_view>, 256},
      {"async-set", fly<start_set>, 256},
      {"coroutine-get", fly<start_coroutine>, 256},
      {"pipeline-get", pipeline_get},
      {"pipeline-set", pipeline_set},
      {"refresh", refresh, 1, false},
  };
  return all;
}

const Shape* find_shape(std::string_view name) {
  const auto found = std::find_if(shapes().begin(), shapes().end(),
                                  [&](const Shape& shape) { return shape.name == name; });
  return found == shapes().end() ? nullptr : &*found;
}

Data make_data(Client& client, std::size_t key_count) {
  Data data;
  data.value.assign(value_size, 'x');
  for (std::size_t i = 0; i < key_count; ++i)
    data.keys.push_back(fmt::format("key:{:012}", i));
  pipeline_set(client, data, key_count);
  return data;
}

}  // namespace slotwise::bench
