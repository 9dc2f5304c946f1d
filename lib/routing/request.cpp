#include "routing/request.hpp"

#include "routing/fan_out.hpp"
#include "routing/trouble.hpp"

namespace slotwise::routing {

Request::Request() {}  // NOLINT(modernize-use-equals-default): leaves small_ uninitialised
Request::~Request() = default;

void Request::encode_long(std::span<const std::string_view> words) {
  resp::append_command(encoded, words);
  bytes = encoded;
}

void Request::deliver_view(ReplyView& reply) noexcept {
  deliver(reply.take());
}

}  // namespace slotwise::routing
