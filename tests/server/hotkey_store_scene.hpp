// What the tests of the hot keys' scripts share.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hotkey/names.hpp"
#include "hotkey/store.hpp"
#include "kit/cluster.hpp"
#include "server/support.hpp"

namespace slotwise::test::scripts {

using namespace slotwise::hotkey;

using Says = Home::Status;
using Holds = Copy::Status;
using State = CopyPlace::State;

struct Scene {
  kit::Cluster cluster{{.primaries = 3}};
  Client client = Client::connect(cluster.uri());
  Store store{client};

  Home create(std::string_view key, Kind kind = Kind::value) const {
    Home home = store.create(key, kind, 1, 0).wait().value();
    REQUIRE(home.status == Says::ok);
    return home;
  }
  /// 0: none.
  std::int64_t expires_at(std::string_view key) const {
    return client.command<std::int64_t>("PEXPIRETIME", key);
  }
  std::optional<std::string> hash(std::string_view key, std::string_view field) const {
    return client.hget(manifest_name(key), field);
  }
};

inline std::int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

inline constexpr std::uint16_t at = 9000;

}  // namespace slotwise::test::scripts
