// Plots, as SVG text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/statistics.hpp"

namespace slotwise::bench {

struct RatioMark {
  std::string label;
  Ratio ratio;
  double bar = 0;  ///< 0: none
};

/// A line a mark: the ratio as a dot on its spread, the bar as a stroke; logarithmic.
std::string ratio_chart(const std::string& title, const std::string& subtitle,
                        const std::vector<RatioMark>& marks);

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x, y; all above 0
};

struct LineChart {
  std::string title;
  std::string x_name;
  std::string y_name;
  std::vector<Curve> curves;
};

/// The charts one under the other; both axes logarithmic.
std::string line_charts(const std::string& title, const std::string& subtitle,
                        const std::vector<LineChart>& charts);

}  // namespace slotwise::bench
