// The typed commands on a face that only writes down what would be sent: the words of each method,
// the type of its reply, and that the command table agrees with both.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <slotwise/commands.hpp>

#include <catch2/catch_test_macros.hpp>

namespace slotwise::client::testing {

/// One call as it came to the face.
struct Call {
  std::vector<std::string> words;
  const std::type_info* type = nullptr;
  enum class Kind { plain, spread, script } kind = Kind::plain;

  friend bool operator==(const Call& a, const Call& b) {
    return a.words == b.words && *a.type == *b.type && a.kind == b.kind;
  }
  friend std::ostream& operator<<(std::ostream& out, const Call& call);
};

/// What the command table must say of every call: known, accepted by the server, all keys in one
/// slot or divisible. So each row of the tests is held against the table as well.
void check_table(const Call& call);

class Recorder : public Commands<Recorder> {
 private:
  friend class Commands<Recorder>;

  template <class T>
  Call invoke(const slotwise::detail::Command&, const Args& args) const {
    return record<T>(args, Call::Kind::plain);
  }
  template <class T>
  Call invoke_spread(const slotwise::detail::Command&, const Args& args) const {
    return record<T>(args, Call::Kind::spread);
  }
  template <class T>
  Call invoke_script(const Script&, const Args& args) const {
    return record<T>(args, Call::Kind::script);
  }
  template <class T>
  static Call record(const Args& args, Call::Kind kind) {
    Call call{{args.words().begin(), args.words().end()}, &typeid(T), kind};
    check_table(call);
    return call;
  }
};

inline const Recorder face;

/// The words of a line, cut at blanks.
std::vector<std::string> cut(std::string_view line);

/// The call that a row expects: T, and the words cut at blanks.
template <class T>
Call is(std::string_view words, Call::Kind kind = Call::Kind::plain) {
  return {cut(words), &typeid(T), kind};
}
template <class T>
Call spread(std::string_view words) {
  return is<T>(words, Call::Kind::spread);
}

using i64 = std::int64_t;
using text = std::string;
using texts = std::vector<std::string>;
using scored = std::vector<std::pair<std::string, double>>;
template <class T>
using maybe = std::optional<T>;
using Clock = std::chrono::system_clock;

}  // namespace slotwise::client::testing
