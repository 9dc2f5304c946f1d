#include "client/nearest.hpp"

#include <algorithm>
#include <cstddef>

namespace slotwise::client {

namespace {

// Number of letters to add, drop, change or swap with the neighbour (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggestion(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr std::size_t longest = 64;  // what is longer is no mistyped name
  if (name.size() > longest) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    // "connect" for connect_timeout, "tls_ca" for ca.
    const bool part = name.size() >= 4 && candidate.find(name) != std::string_view::npos;
    const std::size_t away = part ? 1 : distance(name, candidate);
    if (away >= least) continue;
    least = away;
    best = candidate;
  }
  return best.empty() ? std::string() : " (did you mean '" + std::string(best) + "'?)";
}

}  // namespace slotwise::client
