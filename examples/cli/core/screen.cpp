#include "cli/core/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace slotwise::cli {

namespace {

std::string_view colour(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::dim:
      return "\x1b[2m";
    case Tone::bold:
      return "\x1b[1m";
    case Tone::good:
      return "\x1b[32m";
    case Tone::warn:
      return "\x1b[33m";
    case Tone::bad:
      return "\x1b[31m";
  }
  return "";
}

std::size_t width_of_terminal(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool can_redraw(int fd) {
  if (::isatty(fd) == 0) return false;
  const char* term = std::getenv("TERM");       // NOLINT(concurrency-mt-unsafe): nobody sets it
  const char* plain = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe)
  return term != nullptr && std::string_view(term) != "dumb" && plain == nullptr;
}

}  // namespace

Screen::Screen(int fd) : fd_(fd), live_(can_redraw(fd)) {}

void Screen::line(std::string_view text, Tone tone) {
  std::string out;
  if (live_ && tone != Tone::plain) {
    out.append(colour(tone)).append(text).append("\x1b[0m\n");
  } else {
    out.append(text).append("\n");
  }
  const std::scoped_lock lock(mutex_);
  take_back();
  write_all(out);
}

void Screen::block(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  take_back();
  write_all(text);
}

void Screen::draft(std::string_view text) {
  if (!live_) return;
  std::string out(text.substr(0, width_of_terminal(fd_) - 1));
  const std::scoped_lock lock(mutex_);
  take_back();
  write_all(out);
  drafted_ = true;
}

void Screen::take_back() {
  if (drafted_) write_all("\r\x1b[K");
  drafted_ = false;
}

void Screen::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody looks any more; the work goes on
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace slotwise::cli
