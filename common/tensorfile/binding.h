// Files and random numbers as inputs of a model or graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"

namespace sluice {

// The tensor of a .npy or .pb, or the member `name` of a .npz. Errors as read_tensor, and
// kBadBinding when there is no such member.
Result<Tensor> read_member(const std::string& path, const std::string& name);

// What is given to --input: true when it is a .npz file whose members are inputs, and not
// NAME=FILE.npz with a wrong NAME.
bool is_npz_alone(const std::string& binding);
// What is wrong with a binding that begins with the name of no input and is no .npz file.
Error unknown_input(const std::string& binding, const std::vector<std::string>& inputs);
// What to do about a file that holds another type than the input `name` takes: of another dtype, or
// else of another shape.
std::string fitting_hint(const Tensor& given, DType dtype, const std::string& name);

// .npy has no name for some dtypes and holds unsigned integers in their place (tensorfile.h): where
// `tensor` can stand for `dtype` that way, makes it one.
void adopt_dtype(Tensor& tensor, DType dtype);

// Pseudo-random elements by seed (SplitMix64, Steele et al. 2014): floats in [-1, 1), integers and
// bools 0 or 1.
void fill_random(Tensor& tensor, uint64_t seed);

}  // namespace sluice
