// One line of input as words, quoted as a person expects from a shell.
//
// Thread rule: use one LineWords from one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slotwise::cli {

/// LineWords are separated by blanks. Inside "double quotes" the escapes \n \r \t \a \b \\ \" \xHH
/// stand for bytes; inside 'single quotes' every byte is itself. Quoted and bare parts that touch
/// make one word (`a"b c"` is `ab c`). A backslash outside quotes is an ordinary byte. A line that
/// is empty, or whose first byte is `#`, has no words. Any byte may occur, NUL too.
class LineWords {
 public:
  /// Splits a line (without its line end; a '\r' there counts as a blank). Returns what is wrong
  /// with it, or nothing; then words() is what was found.
  std::optional<std::string> split(std::string_view line);

  /// Valid until the next split().
  std::span<const std::string_view> words() const noexcept { return words_; }
  bool empty() const noexcept { return words_.empty(); }

 private:
  std::optional<std::string> quoted(std::string_view line, std::size_t& at);

  std::string bytes_;  // all words, one after the other; never longer than the line
  std::vector<std::string_view> words_;
};

}  // namespace slotwise::cli
