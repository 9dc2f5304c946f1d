// "Did you mean ...": the known name that is nearest to a mistyped one.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slotwise::client {

/// " (did you mean 'x'?)" or nothing, if no name is near.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace slotwise::client
