#include "stages/subgraph-optimize/codegen/epilogue_emitter.h"

#include <llvm/IR/Intrinsics.h>

#include "stages/subgraph-optimize/codegen/vector_math.h"

namespace sluice {
namespace {

using llvm::Value;

// Instructions an op becomes, roughly.
int length_of(EpilogueOp op) {
  switch (op) {
    case EpilogueOp::kExp:
    case EpilogueOp::kTanh:
    case EpilogueOp::kErf:
    case EpilogueOp::kSigmoid:
      return 24;
    default:
      return 1;
  }
}

Value* emit_unary(KernelBuilder& b, EpilogueOp op, Value* a, int lanes) {
  auto& ir = b.ir();
  switch (op) {
    case EpilogueOp::kNeg:
      return ir.CreateFNeg(a);
    case EpilogueOp::kAbs:
      return ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    case EpilogueOp::kRelu:
      return emit_max(b, a, b.splat(0.0f, lanes));
    case EpilogueOp::kExp:
      return emit_exp(b, a);
    case EpilogueOp::kTanh:
      return emit_tanh(b, a);
    case EpilogueOp::kErf:
      return emit_erf(b, a);
    case EpilogueOp::kSigmoid:
      return emit_sigmoid(b, a);
    case EpilogueOp::kSqrt:
      return ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    default:
      return ir.CreateFDiv(b.splat(1.0f, lanes), a);  // kReciprocal
  }
}

Value* emit_binary(KernelBuilder& b, EpilogueOp op, Value* a, Value* c) {
  auto& ir = b.ir();
  switch (op) {
    case EpilogueOp::kAdd:
      return ir.CreateFAdd(a, c);
    case EpilogueOp::kSub:
      return ir.CreateFSub(a, c);
    case EpilogueOp::kMul:
      return ir.CreateFMul(a, c);
    case EpilogueOp::kDiv:
      return ir.CreateFDiv(a, c);
    case EpilogueOp::kMax:
      return emit_max(b, a, c);
    default:
      return emit_min(b, a, c);  // kMin
  }
}

}  // namespace

bool is_long(const Epilogue& epilogue, int vectors_in_tile) {
  int length = 0;
  for (const EpilogueInstruction& instruction : epilogue.code) length += length_of(instruction.op);
  return length * vectors_in_tile > 320;
}

Value* emit_epilogue(KernelBuilder& b, const Epilogue& epilogue, Value* accumulator, const std::function<Value*(int)>& load) {
  if (epilogue.code.empty()) return accumulator;
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(accumulator->getType())->getNumElements());
  IrValues values;
  for (const EpilogueInstruction& i : epilogue.code) {
    Value* value = nullptr;
    switch (i.op) {
      case EpilogueOp::kAccumulator:
        value = accumulator;
        break;
      case EpilogueOp::kConstant:
        value = b.splat(i.constant, lanes);
        break;
      case EpilogueOp::kLoad:
        value = load(i.a);
        break;
      case EpilogueOp::kSelectPositive:
        value = b.ir().CreateSelect(b.ir().CreateFCmpOGT(values[i.a], b.splat(0.0f, lanes)), values[i.b], values[i.c]);
        break;
      default:
        value = epilogue_arity(i.op) == 1 ? emit_unary(b, i.op, values[i.a], lanes) : emit_binary(b, i.op, values[i.a], values[i.b]);
    }
    values.push_back(value);
  }
  return values.back();
}

}  // namespace sluice
