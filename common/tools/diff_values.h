// Values of two runs, layer by layer: where they part for the first time, and by how much.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

struct ValueDifferences {
  size_t compared = 0;
  std::vector<std::string>
      lines;  // one for each value that differs, in the order in which values are made
  std::vector<std::string> only_a;  // names
  std::vector<std::string> only_b;
};

// Two values are equal when types and shapes are, NaNs and infinities stand in the same places, and
// the largest |a - b| is at most `tolerance` times the largest |b|.

// Two folders of --dump-values; the order is that of `a`.
Result<ValueDifferences> compare_folders(const std::string& a, const std::string& b,
                                         double tolerance);

// A folder of sluice-loader's --dump-values, which holds the inputs too, against the evaluation of
// the graph on them; the order is the graph's.
Result<ValueDifferences> compare_with_evaluation(const std::string& a, const Module& b,
                                                 double tolerance);

}  // namespace sluice
