#include "kit/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "kit/error.hpp"

namespace slotwise::kit {

std::string config_word(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_of(" \t\"'\\#") == std::string::npos;
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string config_text(const std::string& word) {
  if (word.size() < 2 || word.front() != '"' || word.back() != '"') return word;
  std::string text;
  for (std::size_t i = 1; i + 1 < word.size(); ++i) {
    if (word[i] == '\\' && i + 2 < word.size()) ++i;
    text += word[i];
  }
  return text;
}

void ConfigFile::write(const std::vector<ConfigLine>& lines) const {
  std::ofstream out(file_, std::ios::trunc);
  for (const auto& [name, value] : lines)
    out << name << ' ' << value << '\n';
  if (!out.flush()) throw Error(fmt::format("cannot write {}", file_.string()));
}

std::vector<ConfigLine> ConfigFile::read() const {
  std::ifstream in(file_);
  std::vector<ConfigLine> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto space = line.find(' ');
    lines.emplace_back(line.substr(0, space),
                       space == std::string::npos ? "" : line.substr(space + 1));
  }
  return lines;
}

std::optional<std::string> ConfigFile::get(const std::string& name) const {
  const auto lines = read();
  const auto found = std::find_if(lines.rbegin(), lines.rend(),
                                  [&](const ConfigLine& line) { return line.first == name; });
  if (found == lines.rend()) return std::nullopt;
  return found->second;
}

void ConfigFile::set(const std::string& name, const std::string& value) const {
  auto lines = read();
  const auto found = std::find_if(lines.rbegin(), lines.rend(),
                                  [&](const ConfigLine& line) { return line.first == name; });
  if (found != lines.rend()) {
    found->second = value;
  } else {
    lines.emplace_back(name, value);
  }
  write(lines);
}

void ConfigFile::drop(const std::string& name) const {
  auto lines = read();
  std::erase_if(lines, [&](const ConfigLine& line) { return line.first == name; });
  write(lines);
}

void ConfigFile::replace_words(const std::map<std::string, std::string>& words) const {
  auto lines = read();
  for (auto& [name, value] : lines) {
    std::istringstream in(value);
    std::string replaced;
    bool any = false;
    for (std::string word; std::getline(in, word, ' ');) {
      if (const auto found = words.find(config_text(word)); found != words.end()) {
        word = config_word(found->second);
        any = true;
      }
      if (!replaced.empty()) replaced += ' ';
      replaced += word;
    }
    if (any) value = replaced;
  }
  write(lines);
}

}  // namespace slotwise::kit
