// Which scripted reply belongs to a command. No sockets; see ScriptedNode.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kit/scripted_reply.hpp"

namespace slotwise::kit {

using Command = std::vector<std::string>;

/// True when `command` begins with these words: its name, and the sub-command of a container
/// (CLUSTER, CLIENT ...), in any case, other words exactly.
bool begins_with(const Command& command, const Command& leading_words);
bool same_name(std::string_view a, std::string_view b);

/// The rules of one node. One-time replies come before lasting ones, more words before fewer,
/// newer before older.
///
/// Thread rule: guarded by its owner.
class Script {
 public:
  /// std::nullopt passes on to the next match.
  using Handler = std::function<std::optional<ScriptedReply>(int connection, const Command&)>;

  void once(const Command& leading_words, std::vector<ScriptedReply> replies);
  void always(const Command& leading_words, Handler handler);
  void clear();
  std::size_t once_left() const;

  /// Takes the next one-time reply for it, if there is one.
  std::optional<ScriptedReply> take_once(const Command& command);
  /// Lasting rules for it, best first. Copies, so that they can be called without a lock.
  std::vector<Handler> handlers_for(const Command& command) const;

 private:
  struct Once {
    Command words;
    std::deque<ScriptedReply> replies;
  };
  struct Lasting {
    Command words;
    Handler handler;
  };

  std::vector<Once> once_;
  std::vector<Lasting> lasting_;
};

/// RESP commands (arrays of bulk strings) out of a stream of bytes.
class CommandParser {
 public:
  void feed(std::string_view bytes);
  std::optional<Command> next();
  /// Everything from the first byte on that cannot be a command; nothing is parsed after it.
  const std::string& garbage() const noexcept { return garbage_; }

 private:
  std::optional<long> number_line(std::size_t& at, char type);

  std::string buffer_;
  std::size_t parsed_ = 0;  // buffer_ up to here was handed out
  std::string garbage_;
  bool broken_ = false;
};

}  // namespace slotwise::kit
