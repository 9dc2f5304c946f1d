// The one error of the test kit.
#pragma once

#include <stdexcept>

namespace slotwise::kit {

/// Thrown by everything in the kit. The text names the thing (which node, which address, which
/// condition) and, where a server is involved, ends with the tail of that server's log.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace slotwise::kit
