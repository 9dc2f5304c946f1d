#include "kit/script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace slotwise::kit {

namespace {

bool is_container(std::string_view name) {
  static constexpr std::array<std::string_view, 14> containers = {
      "ACL",    "CLIENT", "CLUSTER", "COMMAND", "CONFIG",   "FUNCTION", "LATENCY",
      "MEMORY", "OBJECT", "PUBSUB",  "SCRIPT",  "SENTINEL", "XGROUP",   "XINFO"};
  return std::any_of(containers.begin(), containers.end(),
                     [&](std::string_view container) { return same_name(container, name); });
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::toupper(x) == std::toupper(y);
  });
}

bool begins_with(const Command& command, const Command& leading_words) {
  if (leading_words.size() > command.size()) return false;
  const std::size_t in_any_case = !command.empty() && is_container(command[0]) ? 2 : 1;
  for (std::size_t i = 0; i < leading_words.size(); ++i) {
    const bool same =
        i < in_any_case ? same_name(command[i], leading_words[i]) : command[i] == leading_words[i];
    if (!same) return false;
  }
  return true;
}

void Script::once(const Command& leading_words, std::vector<ScriptedReply> replies) {
  auto found = std::find_if(once_.begin(), once_.end(),
                            [&](const Once& rule) { return rule.words == leading_words; });
  if (found == once_.end()) found = once_.insert(once_.end(), {leading_words, {}});
  for (auto& reply : replies)
    found->replies.push_back(std::move(reply));
}

void Script::always(const Command& leading_words, Handler handler) {
  lasting_.push_back({leading_words, std::move(handler)});
}

void Script::clear() {
  once_.clear();
  lasting_.clear();
}

std::size_t Script::once_left() const {
  std::size_t left = 0;
  for (const auto& rule : once_)
    left += rule.replies.size();
  return left;
}

std::optional<ScriptedReply> Script::take_once(const Command& command) {
  Once* best = nullptr;
  for (auto& rule : once_) {
    if (rule.replies.empty() || !begins_with(command, rule.words)) continue;
    if (best == nullptr || rule.words.size() >= best->words.size()) best = &rule;
  }
  if (best == nullptr) return std::nullopt;
  ScriptedReply reply = std::move(best->replies.front());
  best->replies.pop_front();
  return reply;
}

std::vector<Script::Handler> Script::handlers_for(const Command& command) const {
  std::vector<const Lasting*> matching;
  for (auto rule = lasting_.rbegin(); rule != lasting_.rend(); ++rule) {
    if (begins_with(command, rule->words)) matching.push_back(&*rule);
  }
  std::stable_sort(matching.begin(), matching.end(), [](const Lasting* a, const Lasting* b) {
    return a->words.size() > b->words.size();
  });
  std::vector<Handler> handlers;
  for (const auto* rule : matching)
    handlers.push_back(rule->handler);
  return handlers;
}

void CommandParser::feed(std::string_view bytes) {
  buffer_.erase(0, std::exchange(parsed_, 0));
  (broken_ ? garbage_ : buffer_) += bytes;
}

/// "<type><number>\r\n" at `at`, which moves past it. Empty: not all there yet, or broken.
std::optional<long> CommandParser::number_line(std::size_t& at, char type) {
  const auto end = buffer_.find("\r\n", at);
  if (at < buffer_.size() && buffer_[at] != type) broken_ = true;
  if (broken_ || end == std::string::npos) return std::nullopt;
  long number = 0;
  const char* last = buffer_.data() + end;
  const auto [stop, error] = std::from_chars(buffer_.data() + at + 1, last, number);
  if (error != std::errc() || stop != last || number < 0) {
    broken_ = true;
    return std::nullopt;
  }
  at = end + 2;
  return number;
}

std::optional<Command> CommandParser::next() {
  if (broken_ || parsed_ == buffer_.size()) return std::nullopt;
  std::size_t at = parsed_;
  Command command;
  const auto count = number_line(at, '*');
  for (long i = 0; count && i < *count; ++i) {
    const auto size = number_line(at, '$');
    if (!size) break;
    const auto length = static_cast<std::size_t>(*size);
    if (buffer_.size() < at + length + 2) break;
    command.push_back(buffer_.substr(at, length));
    at += length + 2;
  }
  if (broken_) {
    garbage_ = buffer_.substr(parsed_);
    buffer_.clear();
    parsed_ = 0;
    return std::nullopt;
  }
  if (!count || command.size() < static_cast<std::size_t>(*count)) return std::nullopt;
  parsed_ = at;
  return command;
}

}  // namespace slotwise::kit
