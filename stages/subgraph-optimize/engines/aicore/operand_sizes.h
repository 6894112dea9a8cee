// The sizes of a kernel as it reads them: the symbols of a kernel are the dims of its operands, one
// behind the other.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "stages/subgraph-optimize/codegen/extent.h"

namespace sluice {

class OperandSizes {
 public:
  // operands: the types of the launch's outputs, then of its inputs, as far as dims are asked for.
  OperandSizes(const Module& module, std::vector<const Type*> operands);
  // A number, or the symbol of the first operand's dim that is the same. Error: kInternal for a dim
  // that is neither fixed nor an operand's.
  Result<Extent> of(const Dim& dim) const;
  Result<std::vector<Extent>> of(const Type& type) const;
  // Elements from one index of each axis to the next, as the value lies in memory.
  Result<std::vector<Extent>> strides(const Value& value) const;

 private:
  const Module& module_;
  std::vector<const Type*> operands_;
};

}  // namespace sluice
