// Compares an output with the expected one.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"
#include "common/tensorfile/tensorfile.h"

namespace sluice {

struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-7;
  bool given = false;  // by data.json: then it applies to bool and integers too
};

// Returns one tolerance for each of `outputs`, from the text of a data.json. Errors: kBadJson.
Result<std::vector<Tolerance>> parse_tolerances(std::string_view text, size_t outputs);

struct Comparison {
  bool equal = false;
  std::string reason;    // when not equal: the first element that differs, or another difference
  double max_error = 0;  // largest |a - b| over elements that are finite on both sides
  double max_ulp = 0;    // the same in units in the last place of b; floats only
};

// Compares tensors. Floats: |a - b| <= atol + rtol * |b|, NaN equals NaN, infinities by sign, |x| <
// 2^-126 counts as 0; complex numbers by parts. Others exactly unless the tolerance was given.
// dtype and shape must match.
Comparison compare(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);
// Compares every element of sequences and optionals in the same way, which must have equally many;
// maps by their keys, in any order.
Comparison compare(const FileValue& actual, const FileValue& expected, const Tolerance& tolerance);

}  // namespace sluice
