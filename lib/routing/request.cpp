#include "routing/request.hpp"

#include "routing/fan_out.hpp"
#include "routing/trouble.hpp"

namespace slotwise::routing {

Request::Request() = default;
Request::~Request() = default;

void Request::reset() noexcept {
  static_cast<link::Call&>(*this) = link::Call{};
  static_cast<net::Task&>(*this) = net::Task{};
  encoded.clear();
  target = Target::any_primary;
  slot = 0;
  read_only = retry_safe = may_run_in_part = single_attempt = wants_ping = blocking = false;
  read_from = ReadFrom::primary;
  block_time = milliseconds(0);
  fixed_node = node = next_node = nullptr;
  fan_out.reset();
  script_body.reset();
  batch = nullptr;
  attempts = redirects = 0;
  may_have_run = on_replica = reauthenticated = false;
  trouble.reset();
}

}  // namespace slotwise::routing
