#include "topology/redirect.hpp"

#include <slotwise/slot.hpp>

#include <charconv>

#include "base/endpoint.hpp"

namespace slotwise::topology {

namespace {

// Takes the next word off `rest`. Fields are separated by one blank; more are forgiven.
std::string_view next_word(std::string_view& rest) noexcept {
  const auto start = rest.find_first_not_of(' ');
  if (start == std::string_view::npos) return rest = {};
  rest.remove_prefix(start);
  const auto end = rest.find(' ');
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(word.size());
  return word;
}

bool read_slot(std::string_view word, std::uint16_t& slot) noexcept {
  unsigned value = 0;
  const char* end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || at != end || value >= slot_count) return false;
  slot = static_cast<std::uint16_t>(value);
  return true;
}

ServerError read_redirect(ErrorKind kind, std::string_view fields) {
  ServerError error;
  error.kind = ErrorKind::malformed;
  if (kind != ErrorKind::redirect && !read_slot(next_word(fields), error.slot)) return error;
  auto endpoint = base::parse_server_endpoint(next_word(fields));
  if (!endpoint) return error;
  error.kind = kind;
  error.endpoint_unknown = endpoint->host == "?";
  error.endpoint = std::move(*endpoint);
  return error;
}

struct Word {
  std::string_view text;
  ErrorKind kind;
};

constexpr Word words[] = {
    {"MOVED", ErrorKind::moved},
    {"ASK", ErrorKind::ask},
    {"REDIRECT", ErrorKind::redirect},
    {"TRYAGAIN", ErrorKind::try_again},
    {"CLUSTERDOWN", ErrorKind::cluster_down},
    {"LOADING", ErrorKind::loading},
    {"MASTERDOWN", ErrorKind::master_down},
    {"READONLY", ErrorKind::read_only},
    {"NOSCRIPT", ErrorKind::no_script},
    {"NOAUTH", ErrorKind::no_auth},
    {"WRONGPASS", ErrorKind::wrong_pass},
    {"NOPERM", ErrorKind::no_perm},
    {"CROSSSLOT", ErrorKind::cross_slot},
    {"NOPROTO", ErrorKind::no_proto},
    {"EXECABORT", ErrorKind::exec_abort},
    {"BUSY", ErrorKind::busy},
    {"NOREPLICAS", ErrorKind::no_replicas},
};

// Errors that share the word ERR and are told apart by how they go on. The texts are those of the
// servers since Redis 5; there is no code word for them.
constexpr Word generic_texts[] = {
    {"unknown command", ErrorKind::unknown_command},
    {"unknown subcommand", ErrorKind::unknown_command},
    {"Unknown subcommand", ErrorKind::unknown_command},
    {"This instance has cluster support disabled", ErrorKind::cluster_disabled},
    {"max number of clients", ErrorKind::max_clients},
    {"invalid password", ErrorKind::wrong_pass},
};

}  // namespace

ServerError parse_server_error(std::string_view text) {
  const auto blank = text.find(' ');
  const std::string_view first = text.substr(0, blank);
  const std::string_view rest =
      blank == std::string_view::npos ? std::string_view() : text.substr(blank + 1);
  ServerError error;
  if (first == "ERR") {
    for (const Word& word : generic_texts) {
      if (rest.substr(0, word.text.size()) == word.text) {
        error.kind = word.kind;
        break;
      }
    }
    return error;
  }
  for (const Word& word : words) {
    if (first != word.text) continue;
    if (word.kind == ErrorKind::moved || word.kind == ErrorKind::ask ||
        word.kind == ErrorKind::redirect) {
      return read_redirect(word.kind, rest);
    }
    error.kind = word.kind;
    break;
  }
  return error;
}

Endpoint redirect_target(const ServerError& error, const Endpoint& answered_by) {
  if (!error.endpoint.host.empty()) return error.endpoint;
  return Endpoint{answered_by.host, error.endpoint.port};
}

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::other:
      return "other";
    case ErrorKind::malformed:
      return "malformed redirect";
    case ErrorKind::unknown_command:
      return "unknown command";
    case ErrorKind::cluster_disabled:
      return "cluster support disabled";
    case ErrorKind::max_clients:
      return "max number of clients";
    default:
      break;
  }
  for (const Word& word : words) {
    if (word.kind == kind) return word.text;
  }
  return "other";
}

}  // namespace slotwise::topology
