// A server's configuration file, line by line. Not for tests: use Server::set_config.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slotwise::kit {

/// One line of a server's configuration: name and the rest, as it stands in the file.
using ConfigLine = std::pair<std::string, std::string>;

/// Text as one word of a configuration line, quoted where it must be.
std::string config_word(const std::string& text);
/// The reverse: servers that rewrite their file put quotes around most values.
std::string config_text(const std::string& word);

/// The file is read and edited in place and never made anew, since sentinels (and CONFIG REWRITE)
/// keep their own state in it. Thread rule: one thread at a time per file.
class ConfigFile {
 public:
  explicit ConfigFile(std::filesystem::path file) : file_(std::move(file)) {}

  void write(const std::vector<ConfigLine>& lines) const;
  std::vector<ConfigLine> read() const;
  std::optional<std::string> get(const std::string& name) const;
  /// Replaces the last line of that name (the one that counts), or adds one.
  void set(const std::string& name, const std::string& value) const;
  void drop(const std::string& name) const;
  /// Every word of a value that is a key of the map becomes what stands there.
  void replace_words(const std::map<std::string, std::string>& words) const;

 private:
  std::filesystem::path file_;
};

}  // namespace slotwise::kit
