#include "stages/subgraph-optimize/codegen/emit/epilogue_emitter.h"

#include "stages/subgraph-optimize/codegen/emit/scalar.h"

namespace sluice {
namespace {

using llvm::Value;
using loop::Instruction;
using loop::InstructionKind;

// Returns roughly the number of machine instructions that an instruction becomes.
int length_of(const Instruction& instruction) {
  if (instruction.kind != InstructionKind::kScalar) return 1;
  return loop::scalar_row(instruction.op).cost == loop::CostClass::kTranscendental ? 24 : 1;
}

Value* splat(KernelBuilder& b, const Instruction& constant, Value* like) {
  const auto* type = llvm::cast<llvm::FixedVectorType>(like->getType());
  return llvm::ConstantVector::getSplat(type->getElementCount(),
                                        scalar_constant(b, constant.dtype, constant.bits));
}

Value* emit_scalar(ScalarEmitter& emitter, const std::vector<Instruction>& code,
                   const Instruction& own, const IrValues& values) {
  IrValues operands;
  for (int i = 0; i < loop::scalar_row(own.op).operands; ++i)
    operands.push_back(values[static_cast<size_t>(own.operands[static_cast<size_t>(i)])]);
  const loop::InstructionId first = own.operands[own.op == loop::ScalarOp::kSelect ? 1 : 0];
  return emitter.emit(own.op, code[static_cast<size_t>(first)].dtype, own.dtype, operands);
}

}  // namespace

bool is_long(const Epilogue& epilogue, int vectors_in_tile) {
  if (epilogue.is_empty()) return false;
  int length = 0;
  for (const Instruction& instruction : epilogue.code()) length += length_of(instruction);
  return length * vectors_in_tile > 320;
}

Value* emit_epilogue(KernelBuilder& b, const Epilogue& epilogue, Value* sum,
                     const std::function<Value*(int)>& load) {
  if (epilogue.is_empty()) return sum;
  ScalarEmitter emitter(b, epilogue.math);
  IrValues values;
  for (const Instruction& own : epilogue.code()) {
    if (own.kind == InstructionKind::kConstant) {
      values.push_back(splat(b, own, sum));
    } else if (own.kind == InstructionKind::kLoad) {
      values.push_back(own.access.buffer == kSum ? sum : load(own.access.buffer - kFirstOperand));
    } else {
      values.push_back(emit_scalar(emitter, epilogue.code(), own, values));
    }
  }
  return values[static_cast<size_t>(epilogue.result())];
}

}  // namespace sluice
