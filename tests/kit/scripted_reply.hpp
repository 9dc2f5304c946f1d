// What a scripted node answers: exact bytes, and how and when they leave.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace slotwise::kit {

using std::chrono::milliseconds;

/// Bytes to send for one command. Converts from a string, so that a script reads well:
///   node.on({"GET", "foo"}, {resp::error("MOVED 12182 :7001"), resp::bulk("1")});
///   node.on({"GET"}, ScriptedReply(resp::bulk("x")).delayed(milliseconds(50)).split_at({1, 3}));
///
/// Replies of one connection leave in the order of its commands: a delayed one holds up those
/// behind it. silent() is the exception: no bytes, and nothing waits for it.
class ScriptedReply {
 public:
  ScriptedReply(std::string bytes) : bytes_(std::move(bytes)) {}  // NOLINT(*-explicit-*): a script
  ScriptedReply(const char* bytes) : bytes_(bytes) {}  // NOLINT(*-explicit-*): reads well
  static ScriptedReply silent() { return ScriptedReply(std::string()); }
  /// No bytes; the connection is closed.
  static ScriptedReply hang_up() { return ScriptedReply(std::string()).cut_after(0); }

  /// Leaves this long after the command came.
  ScriptedReply& delayed(milliseconds delay) {
    delay_ = delay;
    return *this;
  }
  /// Sends in pieces that end at these offsets, `gap` apart.
  ScriptedReply& split_at(std::vector<std::size_t> offsets, milliseconds gap = milliseconds(2)) {
    splits_ = std::move(offsets);
    gap_ = gap;
    return *this;
  }
  /// One byte at a time.
  ScriptedReply& byte_by_byte(milliseconds gap = milliseconds(1)) {
    splits_.clear();
    for (std::size_t i = 1; i < bytes_.size(); ++i)
      splits_.push_back(i);
    gap_ = gap;
    return *this;
  }
  /// Closes the connection after the first n bytes.
  ScriptedReply& cut_after(std::size_t n) {
    cut_ = true;
    if (n < bytes_.size()) bytes_.resize(n);
    return *this;
  }
  /// Closes the connection after the whole reply.
  ScriptedReply& then_close() {
    cut_ = true;
    return *this;
  }
  /// Closes by RST instead of FIN.
  ScriptedReply& with_reset() {
    cut_ = reset_ = true;
    return *this;
  }

  const std::string& bytes() const noexcept { return bytes_; }
  milliseconds delay() const noexcept { return delay_; }
  const std::vector<std::size_t>& splits() const noexcept { return splits_; }
  milliseconds gap() const noexcept { return gap_; }
  bool closes() const noexcept { return cut_; }
  bool resets() const noexcept { return reset_; }

 private:
  std::string bytes_;
  milliseconds delay_{0};
  std::vector<std::size_t> splits_;
  milliseconds gap_{2};
  bool cut_ = false;
  bool reset_ = false;
};

}  // namespace slotwise::kit
