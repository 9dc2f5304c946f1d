// What a comparison gives: a table to read, Markdown, JSON and a plot.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compare/shapes.hpp"
#include "support/measure.hpp"

namespace slotwise::bench {

/// Ours against one rival.
struct Verdict {
  std::string rival;
  double bar = 0;  ///< 0: reported only
  Ratio ratio;

  bool is_short() const { return bar > 0 && ratio.of_medians < bar; }
};

struct ShapeResult {
  const Shape* shape = nullptr;
  double offered_rate = 0;  ///< with half_rate
  Measurements ours;
  std::vector<Measurements> theirs;  ///< of each rival
  std::vector<Verdict> verdicts;     ///< of each rival
};

/// Compares ours with each rival: rates, or p99 where the shape says so.
void judge(ShapeResult& result);

bool any_short(const std::vector<ShapeResult>& results);

std::string text_head();
std::string text_rows(const ShapeResult& result);
std::string markdown(const std::vector<ShapeResult>& results, const std::string& circumstances);
nlohmann::json json(const std::vector<ShapeResult>& results, const RoundOptions& options,
                    const std::string& circumstances);
/// Each ratio with its spread, and its bar.
std::string plot(const std::vector<ShapeResult>& results, const std::string& circumstances);

}  // namespace slotwise::bench
