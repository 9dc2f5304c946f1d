#include "slotwise/version.hpp"

#define SLOTWISE_TEXT_OF(x) #x
#define SLOTWISE_TEXT(x) SLOTWISE_TEXT_OF(x)

namespace slotwise {

const char* version() noexcept {
  return SLOTWISE_TEXT(SLOTWISE_VERSION_MAJOR) "." SLOTWISE_TEXT(
      SLOTWISE_VERSION_MINOR) "." SLOTWISE_TEXT(SLOTWISE_VERSION_PATCH);
}

}  // namespace slotwise
