#include <slotwise/convert.hpp>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace slotwise::detail {

namespace {

/// All of `text` as one number, or nothing.
template <class T>
std::optional<T> parse(std::string_view text) noexcept {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole(double value) noexcept {
  constexpr double limit = 9223372036854775808.0;  // 2^63, the first that does not fit
  if (!(value >= -limit && value < limit) || std::trunc(value) != value) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

template <class T>
std::string spell(T value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return {buffer, error == std::errc() ? end : buffer};
}

/// As the server spells a double in RESP2: 100000 and not 1e+05.
std::string spell_double(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (const auto n = whole(value); n && std::fabs(value) < exact) return spell(*n);
  return spell(value);
}

bool starts_with_word(std::string_view text, std::string_view word) noexcept {
  return text.starts_with(word) && (text.size() == word.size() || text[word.size()] == ' ');
}

}  // namespace

Error mismatch(std::string_view wanted, const Reply& got) {
  std::string message = "asked for ";
  message += wanted;
  message += ", but the reply is ";
  if (got.is_nil()) {
    message += "nil: ask for std::optional";
  } else {
    message += "of type ";
    message += to_string(got.type());
    if (got.is_aggregate()) {
      message += " with ";
      message += spell(got.elements().size());
      message += " elements";
    }
  }
  return {ErrorCode::type_mismatch, Outcome::executed, std::move(message)};
}

Error error_of(const Reply& reply) {
  const std::string_view text = reply.text();
  const bool auth = starts_with_word(text, "NOAUTH") || starts_with_word(text, "WRONGPASS") ||
                    starts_with_word(text, "NOPERM");
  // The server quotes the arguments of a command that it does not know; a message may hold none.
  std::string message(text.substr(0, text.find(", with args beginning with:")));
  return Error(auth ? ErrorCode::auth_failed : ErrorCode::server, Outcome::rejected,
               std::move(message))
      .with_server_text(std::string(text));
}

Result<std::int64_t> to_integer(const Reply& reply) {
  std::optional<std::int64_t> value;
  switch (reply.type()) {
    case Reply::Type::integer:
      return reply.integer();
    case Reply::Type::boolean:
      return std::int64_t{reply.boolean()};
    case Reply::Type::real:
      value = whole(reply.real());
      break;
    default:
      value = parse<std::int64_t>(reply.text());
  }
  if (!value) return mismatch("an integer", reply);
  return *value;
}

Result<double> to_double(const Reply& reply) {
  std::optional<double> value;
  switch (reply.type()) {
    case Reply::Type::real:
      return reply.real();
    case Reply::Type::integer:
      return static_cast<double>(reply.integer());
    default:
      value = parse<double>(reply.text());
  }
  if (!value) return mismatch("a double", reply);
  return *value;
}

Result<bool> to_bool(const Reply& reply) {
  switch (reply.type()) {
    case Reply::Type::boolean:
      return reply.boolean();
    case Reply::Type::integer:
      return reply.integer() != 0;
    case Reply::Type::nil:
      return false;
    case Reply::Type::status:
      if (reply.text() == "OK") return true;
      [[fallthrough]];
    default:
      return mismatch("a bool", reply);
  }
}

Result<std::string> to_text(Reply&& reply) {
  switch (reply.type()) {
    case Reply::Type::integer:
      return spell(reply.integer());
    case Reply::Type::real:
      return spell_double(reply.real());
    case Reply::Type::boolean:
      return std::string(reply.boolean() ? "1" : "0");
    default:
      if (!reply.is_text()) return mismatch("text", reply);
      return reply.take_text();
  }
}

bool is_nested_pairs(const Reply& reply) noexcept {
  if (reply.type() == Reply::Type::map) return false;
  const auto elements = reply.elements();
  return !elements.empty() && elements.front().is_aggregate() &&
         elements.front().elements().size() == 2;
}

}  // namespace slotwise::detail
