// Elements of every numeric dtype as float64.
#pragma once

#include <vector>

#include "common/base/tensor.h"

namespace sluice {

// In row-major order; complex numbers as two elements. The tensor must be consistent and no string tensor. Exact but for integers beyond
// 2^53.
std::vector<double> elements_as_double(const Tensor& tensor);

}  // namespace sluice
