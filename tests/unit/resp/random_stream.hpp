// Random replies as bytes, the same for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace slotwise::resp::test {

class RandomStream {
 public:
  explicit RandomStream(std::uint32_t seed) : random_(seed) {}

  /// Below `n`. Not a distribution of the standard: those differ between libraries.
  std::size_t below(std::size_t n) { return random_() % n; }

  /// One reply with everything that hiredis knows.
  std::string reply(int depth = 4) {
    const std::size_t kinds = depth > 0 ? 14 : 10;
    switch (below(kinds)) {
      case 0:
        return below(2) ? "+OK\r\n" : "+" + word() + "\r\n";
      case 1:
        return "-ERR " + word() + "\r\n";
      case 2:
        return ":" + std::to_string(static_cast<std::int64_t>(random_() << 32 | random_())) +
               "\r\n";
      case 3:
        return "," + real() + "\r\n";
      case 4:
        return "_\r\n";
      case 5:
        return below(2) ? "#t\r\n" : "#f\r\n";
      case 6:
        return "(" + std::string(below(2), '-') + std::string(1 + below(30), '7') + "\r\n";
      case 7:
        return below(2) ? "$-1\r\n" : "*-1\r\n";
      case 8: {
        const std::string text = "txt:" + bytes();
        return "=" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
      }
      case 10:
        return aggregate('*', 1, depth);
      case 11:
        return aggregate('%', 2, depth);
      case 12:
        return aggregate('~', 1, depth);
      case 13:
        return aggregate('>', 1, depth);
      default: {
        const std::string text = bytes();
        return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
      }
    }
  }

 private:
  std::string word() { return std::string(below(20), static_cast<char>('a' + below(26))); }

  std::string real() {
    static constexpr const char* some[] = {"0",   "1.5",  "-2.25",  "1e300", "-1.5e-9",
                                           "inf", "-inf", "3.1415", "17"};
    return some[below(std::size(some))];
  }

  std::string bytes() {
    const std::size_t size = below(100) == 0 ? below(60'000) : below(60);
    std::string text(size, '\0');
    for (char& c : text)
      c = static_cast<char>(below(8) == 0 ? '\r' + below(2) : below(256));
    return text;
  }

  std::string aggregate(char type, std::size_t values, int depth) {
    const std::size_t count = below(50) == 0 ? below(300) : below(6);
    std::string text = type + std::to_string(count) + "\r\n";
    for (std::size_t i = 0; i != count * values; ++i)
      text += reply(depth - 1);
    return text;
  }

  std::mt19937 random_;
};

}  // namespace slotwise::resp::test
