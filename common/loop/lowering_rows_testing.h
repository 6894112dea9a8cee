// Compares lowerings of nodes with constant inputs with the evaluator, for several dtypes and
// sizes.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/loop/lowering_testing.h"

namespace sluice::loop {

using Sizes = std::map<std::string, int64_t>;

// A node; constants are statements such as "%s = constant i64[1] [2]".
struct Row {
  std::string inputs;
  std::string constants;
  std::string node;
};

inline const std::vector<std::string> kAllDtypes = {
    "f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"};
inline const std::vector<std::string> kSomeDtypes = {"f32", "f16", "i64", "bool"};
inline const std::vector<Sizes> kTwoSizes = {{{"N", 5}, {"M", 3}}, {{"N", 9}, {"M", 4}}};

// The dtype T stands for each of the dtypes.
inline void expect_same(const Row& row, const std::vector<std::string>& dtypes = {"f32"},
                        const std::vector<Sizes>& all = kTwoSizes, const LoweringCase& like = {}) {
  std::string graph = one_node(row.inputs, row.node);
  graph.insert(graph.find("{\n") + 2, row.constants + "\n");
  for (const std::string& dtype : dtypes) {
    LoweringCase test = like;
    test.graphs = graph;
    for (size_t at = 0; (at = test.graphs.find(" T[", at)) != std::string::npos;)
      test.graphs.replace(at + 1, 1, dtype);
    for (const Sizes& sizes : all) {
      test.sizes = sizes;
      EXPECT_EQ(lowering_difference(test), "")
          << test.graphs << "N " << sizes.at("N") << ", M " << sizes.at("M");
    }
  }
}

// A tensor of i64, for LoweringCase::values.
inline Tensor integers(const std::vector<int64_t>& values, std::vector<int64_t> dims) {
  Tensor tensor = make_tensor(DType::kI64, std::move(dims));
  if (!values.empty())
    std::memcpy(tensor.bytes.data(), values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

}  // namespace sluice::loop
