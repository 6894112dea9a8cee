// Writes epilogues by hand: those that kernels need for themselves, and those of tests.
#pragma once

#include "stages/subgraph-optimize/codegen/epilogue.h"

namespace sluice {

// Every call returns the number of the new value.
class EpilogueBuilder {
 public:
  using Id = loop::InstructionId;

  explicit EpilogueBuilder(DType sum = DType::kF32);
  Id accumulator() { return load(kSum); }
  Id constant(float value);
  Id load(EpilogueOperand operand, DType dtype = DType::kF32);
  Id scalar(loop::ScalarOp op, Id a, Id b = -1, Id c = -1);
  Id cast(Id a, DType to);
  Id add(Id a, Id b) { return scalar(loop::ScalarOp::kAdd, a, b); }
  Id sub(Id a, Id b) { return scalar(loop::ScalarOp::kSub, a, b); }
  Id mul(Id a, Id b) { return scalar(loop::ScalarOp::kMul, a, b); }
  Id relu(Id a);
  Id clip(Id a, float low, float high);
  Id leaky_relu(Id a, float slope);
  Id select_less(Id a, Id b, Id yes, Id no);  // a < b ? yes : no
  // Makes `result`, any earlier value, the stored one; floats may be stored as f16 or bf16.
  Epilogue finish(Id result);
  Epilogue finish(Id result, DType stored);

 private:
  Id load(loop::BufferId buffer);
  Id push(loop::Instruction instruction);
  DType dtype_of(Id id) const;
  Epilogue epilogue_;
};

}  // namespace sluice
