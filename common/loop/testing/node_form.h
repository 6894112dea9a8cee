// Compares forms of a node with constant inputs with the evaluator, in fewer words than
// family_case.h: dtypes, sizes and values are those of whole tables of forms.
#pragma once

#include <cstring>

#include "common/loop/testing/family_case.h"

namespace sluice::loop {

using Sizes = std::map<std::string, int64_t>;

// A case with %x in [-4, 4] whose results are near those of the evaluator.
inline LoweringCase near_to(double ulps) {
  LoweringCase test;
  test.ulps = ulps;
  test.ranges = {{"x", {-4, 4}}};
  return test;
}

// A case whose indices %i are in [low, high].
inline LoweringCase with_indices(double low, double high) {
  LoweringCase test;
  test.ranges = {{"i", {low, high}}};
  return test;
}

// A node; constants are statements such as "%s = constant i64[1] [2]".
struct NodeForm {
  std::string inputs;
  std::string constants;
  std::string node;
};

inline const std::vector<std::string> kAllDtypes = {
    "f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"};
inline const std::vector<std::string> kSomeDtypes = {"f32", "f16", "i64", "bool"};
inline const std::vector<Sizes> kTwoSizes = {{{"N", 5}, {"M", 3}}, {{"N", 9}, {"M", 4}}};

// The dtype D stands for each of the dtypes; `like` has the error, ranges and values.
inline void expect_same(const NodeForm& form, const std::vector<std::string>& dtypes = {"f32"},
                        const std::vector<Sizes>& sizes = kTwoSizes,
                        const LoweringCase& like = {}) {
  FamilyCase family{form.inputs, form.node, like.ulps, like.ranges, dtypes, form.constants + "\n"};
  family.sizes = sizes;
  family.values = like.values;
  expect_family(family);
}

// A tensor of i64, for LoweringCase::values.
inline Tensor integers(const std::vector<int64_t>& values, std::vector<int64_t> dims) {
  Tensor tensor = make_tensor(DType::kI64, std::move(dims));
  if (!values.empty())
    std::memcpy(tensor.bytes.data(), values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

}  // namespace sluice::loop
