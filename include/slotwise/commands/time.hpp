// How the typed commands take and give time: std::chrono only, milliseconds on the wire.
//
// Thread rule: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <slotwise/args.hpp>
#include <slotwise/convert.hpp>
#include <slotwise/export.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/result.hpp>

namespace slotwise {

/// What ttl() and expire_time() give for a key that never expires: longer, later than any other.
inline constexpr std::chrono::milliseconds no_expiry = (std::chrono::milliseconds::max)();
inline constexpr std::chrono::system_clock::time_point never_expires =
    (std::chrono::system_clock::time_point::max)();

namespace detail {

/// Rounds up, so that a positive time never becomes zero (which means "for ever" to some commands
/// and "now" to others). What does not fit becomes the longest time that does.
template <class Rep, class Period>
constexpr std::int64_t ceil_milliseconds(std::chrono::duration<Rep, Period> d) noexcept {
  using std::chrono::milliseconds;
  const std::chrono::duration<long double, std::milli> wide(d);
  constexpr long double limit = 9.2e18L;
  if (!(wide.count() < limit)) return (milliseconds::max)().count();
  if (wide.count() <= -limit) return (milliseconds::min)().count();
  return std::chrono::ceil<milliseconds>(d).count();
}

}  // namespace detail

/// A length of time: any std::chrono::duration converts to it, `10s` as well as `0.5ms`. Whole
/// milliseconds, rounded up.
class SLOTWISE_API Duration {
 public:
  template <class Rep, class Period>
  constexpr Duration(std::chrono::duration<Rep, Period> d) noexcept  // NOLINT
      : milliseconds_(detail::ceil_milliseconds(d)) {}

  constexpr std::int64_t milliseconds() const noexcept { return milliseconds_; }
  void append_to(Args& args) const { args.add(milliseconds_); }
  /// As the blocking commands want it: "12.345".
  void append_seconds(Args& args) const;

 private:
  std::int64_t milliseconds_;
};

/// A moment: any time_point of std::chrono::system_clock converts to it. Whole milliseconds since
/// 1970, rounded up. The servers compare it with their own clocks.
class UnixTime {
 public:
  template <class D>
  constexpr UnixTime(std::chrono::time_point<std::chrono::system_clock, D> t) noexcept  // NOLINT
      : milliseconds_(detail::ceil_milliseconds(t.time_since_epoch())) {}

  constexpr std::int64_t milliseconds() const noexcept { return milliseconds_; }
  void append_to(Args& args) const { args.add(milliseconds_); }

 private:
  std::int64_t milliseconds_;
};

namespace detail {

/// The longest time that `wait` may take on the server, as the last or first word of a command.
struct Seconds {
  Duration wait;
  void append_to(Args& args) const { wait.append_seconds(args); }
};

/// PTTL: -2 is no such key (empty), -1 no expiry.
template <>
struct SLOTWISE_API Converter<std::optional<std::chrono::milliseconds>> {
  static Result<std::optional<std::chrono::milliseconds>> from(Reply&& r);
};
/// PEXPIRETIME: -2 is no such key (empty), -1 no expiry.
template <>
struct SLOTWISE_API Converter<std::optional<std::chrono::system_clock::time_point>> {
  static Result<std::optional<std::chrono::system_clock::time_point>> from(Reply&& r);
};
/// OBJECT IDLETIME.
template <>
struct SLOTWISE_API Converter<std::chrono::seconds> {
  static Result<std::chrono::seconds> from(Reply&& r);
};
/// TIME: seconds and microseconds.
template <>
struct SLOTWISE_API Converter<std::chrono::system_clock::time_point> {
  static Result<std::chrono::system_clock::time_point> from(Reply&& r);
};

}  // namespace detail

}  // namespace slotwise
