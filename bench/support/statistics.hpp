// What is made of the figures of several rounds. Pure functions.
#pragma once

#include <vector>

namespace slotwise::bench {

/// The middle one of some figures, or the mean of the two in the middle; 0 if there are none.
double median(std::vector<double> figures);

/// The figure that a share of all figures (0.99: 99 %) does not exceed; 0 if there are none.
double percentile(std::vector<float>& figures, double share);

/// How two sides compare that ran in turn.
struct Ratio {
  double of_medians = 0;  ///< median of ours / median of theirs
  double low = 0;         ///< smallest and largest ratio of two runs of one round
  double high = 0;
  /// best of ours / best of theirs: the rounds in which others disturbed least
  double of_best = 0;
};

/// Of two sides' figures, round by round. Higher is better in both; equally many, and none is 0.
Ratio compare(const std::vector<double>& ours, const std::vector<double>& theirs);

/// The same of figures of which the lower is the better: above 1 is better for us here, too.
Ratio compare_inverse(std::vector<double> ours, std::vector<double> theirs);

}  // namespace slotwise::bench
