// Compares many forms of a node with the evaluator, for tests of families of lowerings.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/loop/testing/lowering_case.h"

namespace sluice::loop {

using Ranges = std::map<std::string, std::pair<double, double>>;  // of inputs, by name

struct FamilyCase {
  std::string inputs;  // D stands for each of the dtypes
  std::string node;    // "%y = Relu(%x)"
  double ulps = 0;     // of f32 and f64; see LoweringCase
  Ranges ranges = {};
  std::vector<std::string> dtypes = {"f32", "f64", "f16", "bf16"};
  std::string constants = {};  // lines before the node
  std::vector<std::map<std::string, int64_t>> sizes = {
      {{"N", 2}, {"M", 9}}, {{"N", 3}, {"M", 6}}, {{"N", 1}, {"M", 7}}, {{"N", 0}, {"M", 8}}};
  std::map<std::string, Tensor> values = {};  // see LoweringCase
};

inline std::string with_dtype(std::string text, const std::string& dtype) {
  for (size_t at = text.find(" D"); at != std::string::npos; at = text.find(" D", at + 1)) {
    if (at + 2 == text.size() || text[at + 2] == '[' || text[at + 2] == ',')
      text.replace(at + 1, 1, dtype);
  }
  return text;
}

// Compares the node for every dtype at several sizes N and M, where it has such.
inline void expect_family(const FamilyCase& family) {
  const auto& sizes = family.sizes;
  const bool is_fixed =
      family.inputs.find('N') == std::string::npos && family.inputs.find('M') == std::string::npos;
  for (const std::string& dtype : family.dtypes) {
    LoweringCase test{one_node(family.inputs, family.node)};
    test.graphs.insert(test.graphs.find('\n') + 1, family.constants);
    test.graphs = with_dtype(std::move(test.graphs), dtype);
    test.values = family.values;
    test.ranges = family.ranges;
    const bool is_short = dtype == "f16" || dtype == "bf16";
    test.ulps = is_short && family.ulps > 4 ? 4 : family.ulps;
    for (size_t i = 0; i < (is_fixed ? 1 : sizes.size()); ++i) {
      test.sizes = sizes[i];
      for (test.seed = 1; test.seed <= 2; ++test.seed)
        EXPECT_EQ(lowering_difference(test), "")
            << test.graphs << "N " << sizes[i].at("N") << ", M " << sizes[i].at("M") << ", seed "
            << test.seed;
    }
  }
}

}  // namespace sluice::loop
