#include <slotwise/client.hpp>

#include <utility>

#include "client/core.hpp"

namespace slotwise {
namespace {

/// Closes the core when the last Client that shares it is gone; tasks and pipelines that are left
/// hold the core itself, closed.
std::shared_ptr<const void> guard_of(const std::shared_ptr<detail::Core>& core) {
  return std::shared_ptr<const void>(nullptr, [core](const void*) { core->close(); });
}

}  // namespace

Client::Client(std::shared_ptr<detail::Core> core, std::shared_ptr<const void> guard,
               CallOptions options)
    : core_(std::move(core)), options_(std::move(options)), guard_(std::move(guard)) {}

Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Client Client::connect(std::string_view uri) {
  return connect(Config::parse(uri));
}

Client Client::connect(Config config) {
  auto core = detail::Core::open(std::move(config));
  auto guard = guard_of(core);
  return Client(std::move(core), std::move(guard), {});
}

Async Client::async() const {
  return Async(core_, options_);
}

Pipeline Client::pipeline() const {
  return Pipeline(core_, options_);
}

Client Client::with(CallOptions options) const {
  return Client(core_, guard_, std::move(options));
}

std::chrono::milliseconds Client::timeout() const noexcept {
  return options_.timeout.value_or(core_->config().timeout);
}

Stats Client::stats() const {
  return core_->stats();
}

TopologyInfo Client::topology() const {
  return core_->topology();
}

Result<void> Client::refresh() const {
  if (core_->in_loop_thread()) {
    return Error(ErrorCode::refused, Outcome::not_sent,
                 "refresh() inside a callback would stop the thread that it waits for");
  }
  return core_->refresh();
}

Result<void> Client::reauthenticate() const {
  if (core_->in_loop_thread()) {
    return Error(ErrorCode::refused, Outcome::not_sent,
                 "reauthenticate() inside a callback would stop the thread that it waits for");
  }
  return core_->reauthenticate();
}

void Client::close() noexcept {
  core_->close();
}

std::optional<Error> Client::execute(const detail::CallSpec& call, const detail::Sink& sink) const {
  return core_->execute(call, options_, sink);
}

Async::Async(std::shared_ptr<detail::Core> core, CallOptions options)
    : core_(std::move(core)), options_(std::move(options)) {}

detail::OperationHandle Async::start(const detail::CallSpec& call) const {
  return core_->start(call, options_);
}

}  // namespace slotwise
