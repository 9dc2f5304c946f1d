#include "routing/request.hpp"

#include "resp/encoder.hpp"
#include "routing/fan_out.hpp"
#include "routing/trouble.hpp"

namespace slotwise::routing {

Request::Request() {}  // NOLINT(modernize-use-equals-default): leaves small_ uninitialised
Request::~Request() = default;

void Request::encode(std::span<const std::string_view> words) {
  if (const std::size_t size = resp::write_if_fits(small_, sizeof small_, words); size != 0) {
    bytes = {small_, size};
    return;
  }
  resp::append_command(encoded, words);
  bytes = encoded;
}

}  // namespace slotwise::routing
