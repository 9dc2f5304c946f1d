// The findings as text and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "cli/doctor/facts.hpp"
#include "cli/doctor/finding.hpp"

namespace slotwise::cli {

std::string_view to_string(Level level) noexcept;

/// The worst first, wrapped to 100 columns; `uri` has no password any more.
std::string doctor_text(const std::string& uri, const Findings& findings);
/// One object on one line (without '\n').
std::string doctor_json(const std::string& uri, const Findings& findings);

}  // namespace slotwise::cli
