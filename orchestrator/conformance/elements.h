// Converts elements of every numeric dtype to float64.
#pragma once

#include <vector>

#include "common/base/tensor.h"

namespace sluice {

// Returns the elements in row-major order; complex numbers as two elements. The tensor must be
// consistent and no string tensor. Exact but for integers beyond 2^53.
std::vector<double> elements_as_double(const Tensor& tensor);

// Returns the distance from |x| to the next number of the dtype; below its smallest normal number,
// that of the smallest; 0 for a dtype that is no float.
double unit_in_last_place(DType dtype, double x);

}  // namespace sluice
