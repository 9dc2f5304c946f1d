#include <slotwise/error.hpp>

#include <type_traits>
#include <utility>

namespace slotwise {

// Shared between copies, so that copying an error never throws: std::exception asks for that.
struct Error::Detail {
  std::string message;
  std::string node;
  std::string server_text;
  int attempts = 0;
};

static_assert(std::is_nothrow_copy_constructible_v<Error>);

Error::Error(ErrorCode code, Outcome outcome, std::string message)
    : code_(code),
      outcome_(outcome),
      detail_(std::make_shared<const Detail>(Detail{std::move(message), {}, {}, 0})) {}

// detail_ is null in an error that was moved from.
const char* Error::what() const noexcept {
  return detail_ ? detail_->message.c_str() : "";
}
std::string_view Error::message() const noexcept {
  return what();
}
std::string_view Error::node() const noexcept {
  return detail_ ? detail_->node : std::string_view();
}
int Error::attempts() const noexcept {
  return detail_ ? detail_->attempts : 0;
}
std::string_view Error::server_text() const noexcept {
  return detail_ ? detail_->server_text : std::string_view();
}

Error Error::with(Detail detail) const {
  Error copy = *this;
  copy.detail_ = std::make_shared<const Detail>(std::move(detail));
  return copy;
}

Error Error::with_node(std::string node) const {
  Detail detail = detail_ ? *detail_ : Detail();
  detail.node = std::move(node);
  return with(std::move(detail));
}

Error Error::with_attempts(int attempts) const {
  Detail detail = detail_ ? *detail_ : Detail();
  detail.attempts = attempts;
  return with(std::move(detail));
}

Error Error::with_server_text(std::string text) const {
  Detail detail = detail_ ? *detail_ : Detail();
  detail.server_text = std::move(text);
  return with(std::move(detail));
}

Error Error::with_outcome(Outcome outcome) const {
  Error copy = *this;
  copy.outcome_ = outcome;
  return copy;
}

Error Error::with_message(std::string message) const {
  Detail detail = detail_ ? *detail_ : Detail();
  detail.message = std::move(message);
  return with(std::move(detail));
}

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::not_sent:
      return "not_sent";
    case Outcome::rejected:
      return "rejected";
    case Outcome::unknown:
      return "unknown";
    case Outcome::executed:
      return "executed";
  }
  return "unknown";
}

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::refused:
      return "refused";
    case ErrorCode::cross_slot:
      return "cross_slot";
    case ErrorCode::queue_full:
      return "queue_full";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::connect_failed:
      return "connect_failed";
    case ErrorCode::auth_failed:
      return "auth_failed";
    case ErrorCode::tls_failed:
      return "tls_failed";
    case ErrorCode::connection_lost:
      return "connection_lost";
    case ErrorCode::protocol:
      return "protocol";
    case ErrorCode::wrong_node:
      return "wrong_node";
    case ErrorCode::not_a_cluster:
      return "not_a_cluster";
    case ErrorCode::slot_not_covered:
      return "slot_not_covered";
    case ErrorCode::cluster_down:
      return "cluster_down";
    case ErrorCode::try_again:
      return "try_again";
    case ErrorCode::loading:
      return "loading";
    case ErrorCode::read_only:
      return "read_only";
    case ErrorCode::too_many_redirects:
      return "too_many_redirects";
    case ErrorCode::no_primary:
      return "no_primary";
    case ErrorCode::server:
      return "server";
    case ErrorCode::type_mismatch:
      return "type_mismatch";
    case ErrorCode::overtaken:
      return "overtaken";
    case ErrorCode::sentinels_unreachable:
      return "sentinels_unreachable";
    case ErrorCode::unknown_primary:
      return "unknown_primary";
    case ErrorCode::not_split:
      return "not_split";
    case ErrorCode::damaged:
      return "damaged";
    case ErrorCode::incomplete:
      return "incomplete";
  }
  return "unknown";
}

}  // namespace slotwise
