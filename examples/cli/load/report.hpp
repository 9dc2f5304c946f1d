// A load as a person sees it.
#pragma once

#include <string>
#include <vector>

#include "cli/core/table.hpp"
#include "cli/load/load.hpp"

namespace slotwise::cli {

std::vector<Column> load_columns();
std::vector<std::string> load_cells(const LoadRow& row);
std::string load_text(const LoadTotals& totals);
/// One object on one line (without '\n').
std::string load_json(const LoadTotals& totals);

}  // namespace slotwise::cli
