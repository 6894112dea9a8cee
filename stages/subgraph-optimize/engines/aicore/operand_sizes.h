// The sizes of a kernel as it reads them: the symbols of a kernel are the dims of its operands,
// concatenated.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/loop/epilogue.h"
#include "stages/subgraph-optimize/codegen/extent.h"

namespace sluice {

class OperandSizes {
 public:
  // operands: the types of the launch's outputs, then of its inputs, as many as have dims that are
  // asked for.
  OperandSizes(const Module& module, std::vector<const Type*> operands);
  // Returns a number, or the symbol of the first operand's dim that is the same. Returns kInternal
  // for a dim that is neither fixed nor an operand's.
  Result<Extent> of(const Dim& dim) const;
  Result<std::vector<Extent>> of(const Type& type) const;
  // Returns the elements from one index of each axis to the next, as the value is stored in memory.
  Result<std::vector<Extent>> strides(const Value& value) const;
  // The same by axis of the result of a contraction whose epilogue reads the value, which may be
  // stored in another way than what it reads; 0 where the value is the same along the axis.
  Result<std::vector<Extent>> walked_strides(const loop::EpilogueRead& read,
                                             const Value& value) const;

 private:
  const Module& module_;
  std::vector<const Type*> operands_;
};

// Returns the stride of neighbouring axes [first, last) that are walked as one, or nothing where no
// single one leads from each element to the next.
std::optional<Extent> joined_stride(const std::vector<Extent>& dims,
                                    const std::vector<Extent>& strides, size_t first, size_t last);

}  // namespace sluice
