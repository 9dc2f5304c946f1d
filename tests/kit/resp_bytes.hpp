// RESP bytes for scripts: bulk("x"), array({...}), error("MOVED 1 a:1"). Independent of the
// library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slotwise::kit::resp {

std::string simple(std::string_view text);  ///< +text
std::string error(std::string_view text);   ///< -text
std::string integer(std::int64_t value);    ///< :value
std::string bulk(std::string_view bytes);   ///< $n
std::string nil2();                         ///< $-1
std::string nil3();                         ///< _
std::string array(const std::vector<std::string>& encoded_items);
std::string push(const std::vector<std::string>& encoded_items);
std::string map(const std::vector<std::pair<std::string, std::string>>& encoded_pairs);
/// An array of bulk strings.
std::string bulks(const std::vector<std::string>& items);
/// A command as a client sends it (the same bytes as bulks).
inline std::string command(const std::vector<std::string>& words) {
  return bulks(words);
}

}  // namespace slotwise::kit::resp
