// A user's program. It defines min and max, as some system headers do, before it includes slotwise.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <compare>
#include <concepts>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ostream>
#include <random>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

#include <slotwise/slotwise.hpp>

static_assert(slotwise::slot("foo") == 12182);

int main() {
  const std::string headers = std::to_string(SLOTWISE_VERSION_MAJOR) + "." +
                              std::to_string(SLOTWISE_VERSION_MINOR) + "." +
                              std::to_string(SLOTWISE_VERSION_PATCH);
  if (headers != slotwise::version()) return 1;

  // An error is thrown inside the library and caught here by its type.
  try {
    auto client = slotwise::Client::connect("no-such-scheme://localhost");
    return 2;
  } catch (const slotwise::Error&) {
    return 0;
  }
}
