// What the tests of splits, of their keeping and of joins share.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <slotwise/hotkey.hpp>

#include "hotkey/keeping.hpp"
#include "hotkey/names.hpp"
#include "hotkey/placement.hpp"
#include "hotkey/shared.hpp"
#include "kit/cluster.hpp"
#include "server/support.hpp"

namespace slotwise::test::keeping {

using namespace slotwise::hotkey;
using namespace std::chrono_literals;

inline std::map<std::string, int> by_node(const Status& status) {
  std::map<std::string, int> out;
  for (const Status::Copy& copy : status.copies)
    ++out[copy.node];
  return out;
}

inline std::vector<int> counts(const Status& status) {
  std::vector<int> out;
  for (const auto& [node, count] : by_node(status))
    out.push_back(count);
  return out;
}

inline std::string text_of(const Status& status) {
  std::string out = status.balanced ? "balanced" : "not balanced";
  for (const Status::Copy& copy : status.copies) {
    out += ", ";
    out += std::to_string(copy.slot);
    out += ' ';
    out += copy.node;
    out += ' ';
    out += copy.state;
    out += ' ';
    out += std::to_string(copy.version);
  }
  return out;
}

/// Nothing is left to do, and all copies have what the original has.
inline bool settled(const Status& status) {
  return status.balanced &&
         std::all_of(status.copies.begin(), status.copies.end(), [&](const Status::Copy& copy) {
           return copy.state == "ready" && copy.version == status.version;
         });
}

inline void wait_settled(const Splitter& splitter, const std::string& key,
                         std::chrono::milliseconds limit, std::size_t copies) {
  Status last;
  kit::wait_until(
      [&] {
        last = splitter.status(key);
        return settled(last) && last.copies.size() == copies;
      },
      limit, [&] { return "the copies to be placed evenly: " + text_of(last); });
}

/// All keys of the cluster with the milliseconds that they live, -1 without end.
inline std::map<std::string, long long> all_keys(const kit::Cluster& cluster) {
  std::map<std::string, long long> out;
  for (const std::size_t node : cluster.primaries()) {
    kit::Server& server = cluster.server(node);
    std::string cursor = "0";
    do {
      const auto reply = server.command("SCAN", cursor, "COUNT", "1000");
      cursor = reply.at(0).text;
      for (std::size_t i = 0; i < reply.at(1).items.size(); ++i) {
        const std::string key(reply.at(1).at(i).text);
        out[key] = server.command("PTTL", key).integer;
      }
    } while (cursor != "0");
  }
  return out;
}

/// Reads on several threads. Every answer must be a value, and none older than the one before; with
/// `numbers` a number, none less than the one before.
class Readers {
 public:
  explicit Readers(const SplitKey& key, bool numbers = false, int threads = 4) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, key, numbers] {
        std::uint64_t newest = 0;
        int greatest = 0;
        while (!stop_) {
          std::this_thread::sleep_for(1ms);  // leave some of the machine to the servers
          try {
            const VersionedValue got = key.get_with_version();
            if (!got.value) ++misses_;
            if (numbers && got.value) {
              const int number = std::stoi(*got.value);
              if (number < greatest) ++back_;
              greatest = number;
            }
            ++reads_;
            if (got.version == 0) continue;  // of the plain key, after a join
            if (got.version < newest) ++back_;
            newest = got.version;
          } catch (const Error& error) {
            if (errors_++ == 0) first_ = error.what();
          }
        }
      });
    }
  }
  ~Readers() { end(); }
  void end() {
    stop_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  void check() {
    end();
    INFO(first_);
    CHECK(errors_ == 0);
    CHECK(misses_ == 0);
    CHECK(back_ == 0);
    CHECK(reads_ > 100);
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<long> reads_{0};
  std::atomic<long> misses_{0};
  std::atomic<long> errors_{0};
  std::atomic<long> back_{0};
  std::string first_;
  std::vector<std::thread> threads_;
};

}  // namespace slotwise::test::keeping
