#include "net/error.hpp"

#include <cctype>
#include <system_error>

namespace slotwise::net {

std::string errno_text(int sys) {
  // generic_category() is safe from any thread, which strerror() is not.
  std::string text = std::generic_category().message(sys);
  // "Connection refused" -> "connection refused", but leave abbreviations such as "RFS" alone.
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

error system_error(const char* what, int sys) {
  return error{errc::system, std::string(what) + " failed: " + errno_text(sys), sys};
}

}  // namespace slotwise::net
