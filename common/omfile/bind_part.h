// Turns a symbolic part into a fixed one, for the sizes of one run.
#pragma once

#include <span>

#include "common/base/result.h"
#include "common/omfile/type_sizes.h"
#include "model.pb.h"

namespace sluice {

// Returns the values of ModelDef.sizes.symbols for inputs of these shapes; shapes of other inputs
// may be empty. Error: kBadBinding when dims that the model computes from others differ from the
// computed ones, or a node needs sizes to be equal that are not.
Result<std::vector<int64_t>> bind_symbols(const pb::ModelDef& model,
                                          std::span<const std::span<const int64_t>> shapes);

// Returns the part as a fixed one: every value has its bytes and offset, the arena its size. The
// model was verified, and so is the result, except for tasks of tests; takes about 100 ns for a
// value. Errors: kBadBinding when a size would be negative, or sizes contradict each other; kLimit
// for an arena that no process can have.
Result<pb::FixedPart> bind_part(const pb::ModelDef& model, int part, const TypeSizes& sizes);

// The sizes of one launch of a kernel whose operands have these dims, one operand after the other.
struct LaunchSize {
  uint32_t blocks = 1;
  uint32_t scratch_bytes = 0;
  double cycles = 0;  // estimated for one thread; 0: not known
};
Result<LaunchSize> size_launch(const pb::KernelDef& kernel, std::span<const int64_t> dims);

}  // namespace sluice
