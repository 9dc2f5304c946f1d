#include "kit/server_binaries.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <vector>

#include "kit/error.hpp"
#include "kit/process.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;

namespace {

bool is_program(const fs::path& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> server_in(const fs::path& dir) {
  for (const char* name : {"valkey-server", "redis-server"}) {
    if (is_program(dir / name)) return dir / name;
  }
  return std::nullopt;
}

std::vector<fs::path> folders_of_path() {
  std::vector<fs::path> folders;
  const char* path = std::getenv("PATH");
  std::istringstream all(path != nullptr ? path : "");
  for (std::string folder; std::getline(all, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

/// "Valkey server v=9.1.2 sha=..." or "Redis server v=7.0.15 sha=..."
ServerBinaries describe(const fs::path& server) {
  const std::string text = run({server.string(), "--version"});
  ServerBinaries binaries;
  binaries.server = fs::absolute(server);
  binaries.flavour = text.starts_with("Redis") ? Flavour::redis : Flavour::valkey;
  const auto at = text.find("v=");
  if (at == std::string::npos ||
      std::sscanf(text.c_str() + at, "v=%d.%d.%d", &binaries.version.major, &binaries.version.minor,
                  &binaries.version.patch) < 2) {
    throw Error(fmt::format("{} does not tell its version: {}", server.string(), text));
  }
  return binaries;
}

ServerBinaries look_everywhere() {
  if (const char* set = std::getenv("SLOTWISE_SERVERS"); set != nullptr && *set != '\0') {
    return ServerBinaries::in(set);  // asked for by name: nothing else will do
  }
  std::vector<fs::path> folders;
#ifdef SLOTWISE_DEPS_DIR
  folders.emplace_back(fs::path(SLOTWISE_DEPS_DIR) / "servers" / "valkey-9.1" / "bin");
#endif
  for (auto& folder : folders_of_path())
    folders.push_back(std::move(folder));
  for (const char* name : {"valkey-server", "redis-server"}) {
    for (const auto& folder : folders) {
      if (is_program(folder / name)) return describe(folder / name);
    }
  }
  std::string looked;
  for (const auto& folder : folders)
    looked += "\n  " + folder.string();
  throw Error(
      "no valkey-server or redis-server: run ./dev setup, or set SLOTWISE_SERVERS to a "
      "folder that has one. Looked in:" +
      looked);
}

}  // namespace

std::string Version::to_string() const {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

const ServerBinaries& ServerBinaries::find() {
  static const ServerBinaries found = look_everywhere();
  return found;
}

ServerBinaries ServerBinaries::in(const fs::path& bin_dir) {
  const auto server = server_in(bin_dir);
  if (!server) {
    throw Error(fmt::format("no valkey-server or redis-server in {}", bin_dir.string()));
  }
  return describe(*server);
}

bool ServerBinaries::is_valkey(int major, int minor) const {
  return flavour == Flavour::valkey && version >= Version{major, minor, 0};
}

bool ServerBinaries::is_redis(int major, int minor) const {
  return flavour == Flavour::redis && version >= Version{major, minor, 0};
}

std::string ServerBinaries::to_string() const {
  return fmt::format("{} {}", flavour == Flavour::valkey ? "valkey" : "redis", version.to_string());
}

}  // namespace slotwise::kit
