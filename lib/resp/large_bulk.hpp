// A bulk string that is received straight into the string which the caller will get.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace slotwise::resp {

/// Without it a value of 100 MB would be copied from the read buffer too. Its string grows with the
/// bytes that came: to 16 times as many, so that a header alone reserves next to nothing, and at
/// most a sixteenth of the value is copied again on the way.
class LargeBulk {
 public:
  /// Fewer missing bytes than this are cheaper to read with what follows them.
  static constexpr std::size_t threshold = 16 * 1024;

  bool active() const noexcept { return total_ != 0; }
  bool whole() const noexcept { return received_ == total_; }
  char type() const noexcept { return type_; }
  std::size_t received() const noexcept { return received_; }

  /// `length` as in the header; `first` is what came of it so far, less than length + 2 bytes.
  void start(char type, std::size_t length, std::span<const char> first);
  /// Where the next bytes belong; empty when it is whole.
  std::span<char> prepare();
  void commit(std::size_t n) noexcept { received_ += n; }
  /// When whole: moves the bytes to `text`. False if they do not end with a line end.
  bool take(std::string& text);
  void clear() noexcept;

 private:
  void grow(std::size_t size);

  std::string text_;          ///< with the line end
  std::size_t received_ = 0;  ///< bytes of text_ that came; the rest of it is room
  std::size_t total_ = 0;     ///< with the line end; 0: none is being received
  char type_ = '$';
};

}  // namespace slotwise::resp
