// Where lines for a person go: colours and redrawing on a terminal, plain lines elsewhere.
//
// Thread rule: every method may be called from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace slotwise::cli {

enum class Tone : std::uint8_t { plain, dim, bold, good, warn, bad };

class Screen {
 public:
  /// Writes to this descriptor. Colours only if it is a terminal, TERM is not "dumb" and NO_COLOR
  /// is not set.
  explicit Screen(int fd);

  /// True if draft() can be seen.
  bool live() const noexcept { return live_; }

  /// A line that stays.
  void line(std::string_view text, Tone tone = Tone::plain);
  /// Text that stays, with its own line ends; the last line must be complete.
  void block(std::string_view text);
  /// The line below all others, until the next draft() or line(); nothing elsewhere than on a
  /// terminal. Cut to the terminal's width, since a line that wraps cannot be taken back.
  void draft(std::string_view text);

 private:
  void write_all(std::string_view bytes);
  void take_back();

  const int fd_;
  bool live_ = false;
  std::mutex mutex_;
  bool drafted_ = false;  // guarded by mutex_
};

}  // namespace slotwise::cli
