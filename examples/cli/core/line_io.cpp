#include "cli/core/line_io.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace slotwise::cli {

namespace {

constexpr std::size_t block = std::size_t{64} << 10;

std::string reason() {
  return std::generic_category().message(errno);
}

}  // namespace

bool LineReader::has_line() {
  const std::size_t end = buffer_.find('\n', scanned_);
  scanned_ = end == std::string::npos ? buffer_.size() : end;
  return end != std::string::npos;
}

bool LineReader::ready() {
  while (!has_line() && !ended_) {
    pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&p, 1, 0) <= 0) return false;
    fill();
  }
  return true;
}

std::optional<std::string_view> LineReader::next() {
  while (!has_line() && !ended_)
    fill();
  if (start_ == buffer_.size()) return std::nullopt;
  const std::size_t end = scanned_;  // a '\n', or the end of a last line without one
  const auto line = std::string_view(buffer_).substr(start_, end - start_);
  start_ = scanned_ = end == buffer_.size() ? end : end + 1;
  return line;
}

void LineReader::fill() {
  buffer_.erase(0, start_);
  scanned_ -= start_;
  start_ = 0;
  const std::size_t old = buffer_.size();
  buffer_.resize(old + block);
  ssize_t n = 0;
  do {
    n = ::read(fd_, buffer_.data() + old, block);
  } while (n < 0 && errno == EINTR);
  buffer_.resize(old + (n > 0 ? static_cast<std::size_t>(n) : 0));
  if (n < 0) throw IoError("cannot read the input: " + reason());
  ended_ = n == 0;
}

void Output::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const std::string why = reason();
      buffer_.clear();
      throw IoError("cannot write the output: " + why);
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  buffer_.clear();
  if (buffer_.capacity() > 16 * limit) buffer_.shrink_to_fit();  // one huge reply is not kept
}

}  // namespace slotwise::cli
