// What the tests of split values share: a key that is split without waiting, and what lies where.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <slotwise/hotkey.hpp>

#include "hotkey/manifest.hpp"
#include "hotkey/names.hpp"
#include "hotkey/placement.hpp"
#include "hotkey/store.hpp"
#include "kit/cluster.hpp"
#include "server/support.hpp"

namespace slotwise::test {

using namespace slotwise::hotkey;

/// What a split comes to, without its two seconds in which all clients learn of it.
inline void split_now(const Client& client, const std::string& key) {
  const Store store(client);
  const auto number = [&] { return store.look(key, 0, false).wait().value().manifest->number; };
  REQUIRE(store.create(key, Kind::value, 1, 0).wait().value().status == Home::Status::ok);
  std::vector<CopyPlace> copies;
  for (const std::uint16_t slot : place_copies(key, {}, 1, client.topology()).add) {
    store.open(key, slot, Kind::value, number()).wait().value();
    copies.push_back({slot, CopyPlace::State::joining});
  }
  const auto change = [&] {
    Store::Change step;
    step.expected = number();
    step.token = "test";
    step.copies = copies;
    REQUIRE(store.change(key, step).wait().value().status == Home::Status::ok);
  };
  change();
  const Home home = store.look(key, 0, true).wait().value();
  for (CopyPlace& copy : copies) {
    store.put(key, copy.slot, home.version, home.expires, home.value).wait().value();
    copy.state = CopyPlace::State::ready;
  }
  change();
}

/// What lies at one place.
struct Held {
  std::optional<std::string> value;
  std::uint64_t version = 0;
  std::int64_t expires = 0;
  friend bool operator==(const Held&, const Held&) = default;
};

/// The original first, then all copies. An answer that says nothing has version 0.
inline std::vector<Held> held(const Client& client, const std::string& key) {
  const Store store(client);
  const Home home = store.look(key, 0, true).wait().value();
  std::vector<Held> out{{home.value, home.version, home.expires}};
  for (const CopyPlace& place : home.manifest->copies) {
    const auto copy = store.look_copy(key, place.slot, true).wait();
    Held one;
    const auto status = copy ? copy->status : Copy::Status::lost;
    if (status == Copy::Status::value || status == Copy::Status::deleted ||
        status == Copy::Status::expired) {
      one = {copy->value, copy->version, copy->expires};
    }
    out.push_back(one);
  }
  return out;
}

inline bool equal(const std::vector<Held>& all) {
  return std::all_of(all.begin(), all.end(), [&](const Held& one) { return one == all[0]; });
}

/// Of all places, once they are equal.
inline Held held_everywhere(const Client& client, const std::string& key,
                            std::chrono::milliseconds limit = 10s) {
  std::vector<Held> all;
  kit::wait_until(
      [&] {
        all = held(client, key);
        return equal(all);
      },
      limit,
      [&] {
        std::string text = "all copies to be equal:";
        for (const Held& one : all)
          text += " " + std::to_string(one.version);
        return text;
      });
  return all[0];
}

inline std::vector<std::uint16_t> slots_of(const Client& client, const std::string& key) {
  std::vector<std::uint16_t> out;
  const Home home = Store(client).look(key, 0, false).wait().value();
  for (const CopyPlace& place : home.manifest->copies)
    out.push_back(place.slot);
  return out;
}

inline int count(const WriteResult& result, CopyWrite::State state) {
  return static_cast<int>(std::count_if(result.copies.begin(), result.copies.end(),
                                        [&](const CopyWrite& c) { return c.state == state; }));
}

/// A cluster of three with one key that is split.
struct Scene {
  kit::Cluster cluster;
  Client client;
  std::string name;
  Splitter splitter;
  SplitKey key;

  explicit Scene(SplitterOptions options = {}, kit::ClusterOptions cluster_options = {},
                 std::string of_key = "hot:product:1")
      : cluster(cluster_options),
        client(Client::connect(cluster.uri())),
        name(std::move(of_key)),
        splitter(client, without_keeping(std::move(options))),
        key(open()) {}

  static SplitterOptions without_keeping(SplitterOptions options) {
    options.keep = false;
    return options;
  }
  SplitKey open() {
    split_now(client, name);
    return splitter.open(name);
  }
  std::vector<Held> all() const { return held(client, name); }
  Held everywhere() const { return held_everywhere(client, name); }
  std::size_t node_of(std::uint16_t slot) const { return cluster.owner_of(slot); }
};

}  // namespace slotwise::test
