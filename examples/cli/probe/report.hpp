// The totals of a probe as text and as JSON.
#pragma once

#include <string>

#include "cli/probe/totals.hpp"

namespace slotwise::cli {

std::string totals_text(const ProbeTotals& totals);
/// One object on one line (without '\n').
std::string totals_json(const ProbeTotals& totals);
/// "good", or what is not: "3 lost, 1 doubled".
std::string verdict(const ProbeTotals& totals);

}  // namespace slotwise::cli
