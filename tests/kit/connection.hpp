// A blocking connection for administration, and a plain reply.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

struct redisContext;

namespace slotwise::kit {

using std::chrono::milliseconds;

/// An IP literal and a port. (Names are not resolved here: hiredis would block on them.)
struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;

  std::string to_string() const;  ///< "127.0.0.1:7000", "[::1]:7000"
  friend bool operator==(const Address&, const Address&) = default;
};

/// A reply, whole and owned. Independent of the library under test on purpose.
struct Reply {
  enum class Type : std::uint8_t {
    nil,
    string,
    status,
    error,
    integer,
    real,
    boolean,
    array,
    map,
    set,
    push,
    other
  };

  Type type = Type::nil;
  std::string text{};        ///< string, status, error, other; a real as it came
  std::int64_t integer = 0;  ///< integer, boolean
  double real = 0;
  std::vector<Reply> items{};  ///< array, set, push; a map as key, value, key, value

  bool is_nil() const noexcept { return type == Type::nil; }
  bool is_error() const noexcept { return type == Type::error; }
  /// Error whose first word is this.
  bool is_error(std::string_view word) const noexcept;

  const std::string& str() const;            ///< throws kit::Error if it is no text
  std::int64_t num() const;                  ///< integer, or text that is one
  std::vector<std::string> strings() const;  ///< items as text
  const Reply& at(std::size_t index) const;  ///< throws if there is none
  /// Value of a key in a map or in a flat array of pairs; throws if there is none.
  const Reply& at(std::string_view key) const;
  const Reply* find(std::string_view key) const;

  /// Readable, one line; for messages.
  std::string to_string() const;
};

/// TLS as the kit's own connections use it.
struct ClientTls {
  std::string ca_file{};  ///< empty: the certificate is not verified
  std::string cert_file{};
  std::string key_file{};
  std::string server_name{};  ///< SNI; also verified when ca_file is set and this is not empty
};

struct ConnectionOptions {
  std::string user{};  ///< with a password only: AUTH password
  std::string password{};
  std::shared_ptr<const ClientTls> tls{};  ///< null: plain
  bool resp3 = false;                      ///< HELLO 3 after connecting
  milliseconds connect_limit{2000};
  milliseconds command_limit{10000};  ///< per command; a slower reply is a kit::Error
  std::string name{};                 ///< CLIENT SETNAME, so that a test tells them apart
};

/// One connection. Every call has a time limit; after a kit::Error about the connection itself
/// (not about an error reply) the object is of no further use: `usable()` is false.
///
/// Thread rule: use one Connection from one thread at a time.
class Connection {
 public:
  /// Connects, and authenticates if asked to. Throws kit::Error.
  Connection(const Address& address, ConnectionOptions options = {});
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  /// `command("SET", key, 5)`: arguments may be text (any bytes) or integers. An error reply is
  /// thrown as kit::Error; see try_command.
  template <class... Args>
  Reply command(const Args&... args) {
    return command_words({word(args)...});
  }
  /// The same, with an error reply as a value.
  template <class... Args>
  Reply try_command(const Args&... args) {
    return try_command_words({word(args)...});
  }
  Reply command_words(const std::vector<std::string>& words);
  Reply try_command_words(const std::vector<std::string>& words);

  /// Sends all, then reads all; error replies as values.
  std::vector<Reply> pipeline(const std::vector<std::vector<std::string>>& commands);

  /// Sends without waiting; as many replies are to be read().
  void send(const std::vector<std::string>& words);
  /// Waits for the next reply or push.
  Reply read();

  bool usable() const noexcept;
  const Address& address() const noexcept { return address_; }

  template <class T>
  static std::string word(const T& value) {
    if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else {
      return std::string(std::string_view(value));
    }
  }

 private:
  struct Closer {
    void operator()(redisContext* context) const noexcept;
  };

  void start_tls();
  void append(const std::vector<std::string>& words);
  [[noreturn]] void fail(const std::string& doing);

  Address address_;
  ConnectionOptions options_;
  std::unique_ptr<redisContext, Closer> context_;
};

}  // namespace slotwise::kit
