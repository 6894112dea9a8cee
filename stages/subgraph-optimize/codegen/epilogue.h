// What a kernel computes of each of its sums before it is stored: a loop graph of one point.
//
// The loops around that point are the kernel's own, so all buffers of the graph have rank 0: the
// stored element, the sum, then one for each operand. One sweep without axes computes the element
// from the others. A graph without nests stores the sum. Example, relu(sum + bias[column]):
//
//   buffer y0: f32[] written
//   buffer x1: f32[]
//   buffer x2: f32[]
//   nest {
//     sweep {
//       %0: f32 = load x1[]
//       %1: f32 = load x2[]
//       %2: f32 = add %0, %1
//       %3: f32 = constant 0
//       %4: bool = lt %2, %3
//       %5: f32 = select %4, %3, %2
//       store y0[] = %5
//     }
//   }
//
// The meaning of the instructions is that of common/loop/scalar.def.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/loop/loop_graph.h"
#include "common/target/math_precision.h"
#include "stages/subgraph-optimize/codegen/extent.h"

namespace sluice {

// The position of the elements of an extra operand relative to the output element (batch
// indices, row, column). Strides are in elements; 0 broadcasts. For a MatMul a row is a row of C
// and batch_strides has one stride per MatMulSpec.batch entry (or is empty: all 0). For a Conv a
// row is an output pixel in the order oh, ow of one image, the column is the output channel, and
// batch_strides is empty (row_stride then counts pixels over all images) or contains the one stride
// from image to image.
struct EpilogueOperand {
  std::vector<Extent> batch_strides;
  Extent row_stride = 0;
  Extent column_stride = 0;  // 0 or 1, fixed

  static EpilogueOperand scalar() { return {}; }
  static EpilogueOperand column() { return {{}, 0, 1}; }  // bias per output channel
  static EpilogueOperand row(Extent stride = 1) {
    return {{}, std::move(stride), 0};
  }  // one element per row
  static EpilogueOperand full(Extent row_stride,
                              std::vector<Extent> batch_strides = {}) {  // residual
    return {std::move(batch_strides), std::move(row_stride), 1};
  }
};

// The buffers of Epilogue.loops.
inline constexpr loop::BufferId kStoredElement = 0, kSum = 1, kFirstOperand = 2;

struct Epilogue {
  loop::LoopGraph loops;
  // The pointers follow the kernel's own, in this order. Their dtypes are those of the buffers:
  // f32, and for sums of f32 also f16 or bf16.
  std::vector<EpilogueOperand> operands;
  MathPrecision math = MathPrecision::kDefault;

  bool is_empty() const { return loops.nests.empty(); }
  // Returns the dtype of the stored elements for sums of a dtype.
  DType stored(DType sum) const { return is_empty() ? sum : loops.buffers[kStoredElement].dtype; }
  DType operand_dtype(size_t operand) const {
    return loops.buffers[static_cast<size_t>(kFirstOperand) + operand].dtype;
  }
  // Returns the instructions, each after its operands, and the one whose value is stored. The
  // epilogue is not empty.
  const std::vector<loop::Instruction>& code() const { return loops.nests[0].instructions; }
  loop::InstructionId result() const { return loops.nests[0].sweeps[0].stores[0].value; }
};

// Returns kCodegen when the loops do not verify or are not of one point, an instruction may fault,
// sums are not of the dtype `sum`, an operand does not exist or is of another dtype, a column
// stride is not 0 or 1, or batch_strides has neither 0 nor `batch_rank` entries.
Result<void> check_epilogue(const Epilogue& epilogue, size_t batch_rank, DType sum = DType::kF32);
bool is_fixed(const Epilogue& epilogue);  // whether no stride has symbols
std::string canonical_text(const Epilogue& epilogue);

}  // namespace sluice
