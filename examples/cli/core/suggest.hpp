// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slotwise::cli {

/// The candidate that `word` is most likely a misspelling of; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace slotwise::cli
