// Files and random numbers as inputs of a model or graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"

namespace sluice {

// Returns the tensor of a .npy or .pb, or the member `name` of a .npz. Errors are those of
// read_tensor, and kBadBinding when there is no such member.
Result<Tensor> read_member(const std::string& path, const std::string& name);

// Returns true when the value of --input is a .npz file whose members are inputs, and not
// NAME=FILE.npz with a wrong NAME.
bool is_npz_alone(const std::string& binding);
// Returns the error of a binding that begins with no input's name and is not a .npz file.
Error unknown_input(const std::string& binding, const std::vector<std::string>& inputs);
// What an input takes. A dim of -1 is open: its size may differ from run to run.
struct WantedTensor {
  std::string name;  // of the input
  std::string type;  // as people read it, "f32 [batch, 16]"
  DType dtype = DType::kUndefined;
  bool ranked = true;
  std::vector<int64_t> dims;
};
// Returns the error of the file `path` that holds something else: another dtype, or another shape.
Error mismatch_error(const Tensor& given, const WantedTensor& wanted, const std::string& path);

// .npy has no name for some dtypes and stores unsigned integers instead (tensorfile.h). Where
// `tensor` can represent `dtype` in this form, it gets that dtype.
void adopt_dtype(Tensor& tensor, DType dtype);

// Fills a tensor with pseudo-random elements by seed (SplitMix64, Steele et al. 2014): floats in
// [-1, 1), integers and bools 0 or 1.
void fill_random(Tensor& tensor, uint64_t seed);

}  // namespace sluice
