// Lines in, text out, and knowing when the input pauses.
//
// Thread rule: use one object from one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace slotwise::cli {

/// A stream that cannot be read or written; the text says which and why.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Lines of a descriptor, in blocks of 64 kB. Bytes are bytes: NUL is one too.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  /// True if next() will answer without waiting: a line, or the end, is there.
  bool ready();
  /// The next line without its '\n', valid until the next call; nothing at the end. The last line
  /// needs no '\n'. Waits if it must.
  std::optional<std::string_view> next();

 private:
  bool has_line();
  void fill();

  const int fd_;
  std::string buffer_;
  std::size_t start_ = 0;    // first byte not yet given
  std::size_t scanned_ = 0;  // up to here there is no '\n'
  bool ended_ = false;
};

/// Text for a descriptor, written when flush() is called or much has gathered.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}

  /// Append here, then call added().
  std::string& buffer() noexcept { return buffer_; }
  void added() {
    if (buffer_.size() >= limit) flush();
  }
  void flush();

 private:
  static constexpr std::size_t limit = std::size_t{64} << 10;
  const int fd_;
  std::string buffer_;
};

}  // namespace slotwise::cli
