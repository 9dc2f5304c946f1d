#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace slotwise::bench {

double median(std::vector<double> figures) {
  if (figures.empty()) return 0;
  std::sort(figures.begin(), figures.end());
  const std::size_t middle = figures.size() / 2;
  if (figures.size() % 2 == 1) return figures[middle];
  return (figures[middle - 1] + figures[middle]) / 2;
}

double percentile(std::vector<float>& figures, double share) {
  if (figures.empty()) return 0;
  const auto count = static_cast<double>(figures.size());
  const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(share * count)));
  const auto place =
      figures.begin() + static_cast<std::ptrdiff_t>(std::min(rank, figures.size()) - 1);
  std::nth_element(figures.begin(), place, figures.end());
  return static_cast<double>(*place);
}

Ratio compare(const std::vector<double>& ours, const std::vector<double>& theirs) {
  Ratio ratio;
  if (ours.empty() || ours.size() != theirs.size()) return ratio;
  for (std::size_t round = 0; round < ours.size(); ++round) {
    const double one = ours[round] / theirs[round];
    ratio.low = round == 0 ? one : std::min(ratio.low, one);
    ratio.high = std::max(ratio.high, one);
  }
  ratio.of_medians = median(ours) / median(theirs);
  ratio.of_best =
      *std::max_element(ours.begin(), ours.end()) / *std::max_element(theirs.begin(), theirs.end());
  return ratio;
}

Ratio compare_inverse(std::vector<double> ours, std::vector<double> theirs) {
  for (auto* figures : {&ours, &theirs}) {
    for (double& figure : *figures)
      figure = 1 / figure;
  }
  return compare(ours, theirs);
}

}  // namespace slotwise::bench
