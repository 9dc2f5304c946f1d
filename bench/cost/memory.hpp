// What a client keeps in memory: by itself, for each node, and for each call that waits.
#pragma once

#include <cstddef>
#include <string_view>

#include <slotwise/config.hpp>

namespace slotwise::bench {

/// For a run under valgrind: long limits, and nothing that happens by itself.
Config patient_config(std::string_view uri);

/// Makes a client, has it connect to all its nodes, and then leaves `pending` calls unanswered;
/// prints what each step added to the heap in use. The servers must be serve_scripted's.
int print_memory(std::string_view uri, std::size_t nodes, std::size_t pending);

}  // namespace slotwise::bench
