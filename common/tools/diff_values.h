// Compares the values of two runs, one by one, to find the first difference and its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// The two numbers of a value that are furthest apart.
struct FurthestNumbers {
  double a = 0, b = 0;
  double apart = 0;
  double largest = 0;       // in b
  std::vector<int64_t> at;  // their index
};

struct ValueDifference {
  std::string name;
  std::string text;                        // for people
  std::optional<FurthestNumbers> numbers;  // none when types, shapes or texts differ
};

struct ValueDifferences {
  size_t compared = 0;
  std::vector<ValueDifference> differing;  // in the order of computation
  std::vector<std::string> only_a;         // names
  std::vector<std::string> only_b;
};

// Two values are equal when their types and shapes are (floats may differ in their dtype), NaNs and
// infinities are at the same positions, and the maximum of |a - b| is at most `tolerance` times the
// maximum of |b|.

// Compares two folders of --dump-values, in the order of `a`.
Result<ValueDifferences> compare_folders(const std::string& a, const std::string& b,
                                         double tolerance);

// Compares a folder of sluice-loader's --dump-values, which includes the inputs, with the
// evaluation of the graph on them, in the order of the graph.
Result<ValueDifferences> compare_with_evaluation(const std::string& a, const Module& b,
                                                 double tolerance);

}  // namespace sluice
