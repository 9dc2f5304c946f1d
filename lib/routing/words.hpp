// Back from the bytes of an encoded command to its words. Rare paths only.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slotwise::routing {

/// The words of one command that resp::append_command made; views into `bytes`.
std::vector<std::string_view> words_of(std::string_view bytes);

/// EVALSHA sha ... (or EVALSHA_RO) as EVAL body ... (or EVAL_RO), encoded.
std::string evalsha_as_eval(std::string_view bytes, std::string_view body);

}  // namespace slotwise::routing
