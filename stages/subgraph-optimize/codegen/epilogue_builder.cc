#include "stages/subgraph-optimize/codegen/epilogue_builder.h"

#include <bit>
#include <utility>

namespace sluice {

using Id = EpilogueBuilder::Id;
using loop::Instruction;
using loop::InstructionKind;
using loop::ScalarOp;

EpilogueBuilder::EpilogueBuilder(DType sum) {
  loop::LoopGraph& loops = epilogue_.loops;
  loops.buffers.resize(kFirstOperand);
  loops.buffers[kStoredElement].is_written = true;
  loops.buffers[kSum].dtype = sum;
  loops.nests.emplace_back().sweeps.emplace_back();
}

// A broken program may name a value that is none.
DType EpilogueBuilder::dtype_of(Id id) const {
  const std::vector<Instruction>& code = epilogue_.code();
  return static_cast<size_t>(id) < code.size() ? code[static_cast<size_t>(id)].dtype : DType::kF32;
}

Id EpilogueBuilder::push(Instruction instruction) {
  loop::Nest& nest = epilogue_.loops.nests[0];
  const auto id = static_cast<Id>(nest.instructions.size());
  nest.instructions.push_back(std::move(instruction));
  nest.sweeps[0].instructions.push_back(id);
  return id;
}

Id EpilogueBuilder::constant(float value) {
  Instruction instruction;
  instruction.bits = std::bit_cast<uint32_t>(value);
  return push(std::move(instruction));
}

Id EpilogueBuilder::load(loop::BufferId buffer) {
  Instruction instruction;
  instruction.kind = InstructionKind::kLoad;
  instruction.access.buffer = buffer;
  instruction.dtype =
      loop::register_dtype(epilogue_.loops.buffers[static_cast<size_t>(buffer)].dtype);
  return push(std::move(instruction));
}

Id EpilogueBuilder::load(EpilogueOperand operand, DType dtype) {
  epilogue_.operands.push_back(std::move(operand));
  epilogue_.loops.buffers.emplace_back().dtype = dtype;
  return load(static_cast<loop::BufferId>(epilogue_.loops.buffers.size()) - 1);
}

Id EpilogueBuilder::scalar(ScalarOp op, Id a, Id b, Id c) {
  Instruction instruction;
  instruction.kind = InstructionKind::kScalar;
  instruction.op = op;
  instruction.operands = {a, b, c};
  const bool is_test = loop::scalar_row(op).result == loop::ScalarResult::kBool;
  instruction.dtype = is_test ? DType::kBool : dtype_of(op == ScalarOp::kSelect ? b : a);
  return push(std::move(instruction));
}

Id EpilogueBuilder::cast(Id a, DType to) {
  Instruction instruction;
  instruction.kind = InstructionKind::kScalar;
  instruction.op = ScalarOp::kCast;
  instruction.operands[0] = a;
  instruction.dtype = to;
  return push(std::move(instruction));
}

Id EpilogueBuilder::select_less(Id a, Id b, Id yes, Id no) {
  return scalar(ScalarOp::kSelect, scalar(ScalarOp::kLess, a, b), yes, no);
}

Id EpilogueBuilder::relu(Id a) {
  const Id zero = constant(0);
  return select_less(a, zero, zero, a);
}

Id EpilogueBuilder::clip(Id a, float low, float high) {
  const Id raised = scalar(ScalarOp::kMax, a, constant(low));
  return scalar(ScalarOp::kMin, raised, constant(high));
}

Id EpilogueBuilder::leaky_relu(Id a, float slope) {
  return select_less(a, constant(0), mul(a, constant(slope)), a);
}

Epilogue EpilogueBuilder::finish(Id result) { return finish(result, dtype_of(result)); }

Epilogue EpilogueBuilder::finish(Id result, DType stored) {
  epilogue_.loops.buffers[kStoredElement].dtype = stored;
  epilogue_.loops.nests[0].sweeps[0].stores = {{{kStoredElement, {}}, result, {}}};
  return std::move(epilogue_);
}

}  // namespace sluice
