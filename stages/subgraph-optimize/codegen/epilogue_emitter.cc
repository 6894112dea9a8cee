#include "stages/subgraph-optimize/codegen/epilogue_emitter.h"

#include "stages/subgraph-optimize/codegen/emit/math.h"

namespace sluice {
namespace {

using llvm::Value;

// Returns roughly the number of instructions that an op becomes.
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

// Emits the instructions of a program, without a loop, over one vector of accumulators:
//
//   for instruction n (written out): values[n] = op(values[a], values[b], values[c])
//   the result is values.back()
//
// The compiler checks that every op has its case.
class InstructionEmitter {
 public:
  InstructionEmitter(KernelBuilder& b, Value* accumulator, const std::function<Value*(int)>& load)
      : b_(b),
        math_(b.ir(), b.profile(), MathPrecision::kPerformance),
        accumulator_(accumulator),
        load_(load) {}

  void emit(const EpilogueInstruction& i) {
    const int arity = epilogue_arity(i.op);
    values_.push_back(make(i, arity > 0 ? values_[i.a] : nullptr,
                           arity > 1 ? values_[i.b] : nullptr, arity > 2 ? values_[i.c] : nullptr));
  }

  Value* last() { return values_.back(); }

 private:
  Value* splat(float number) {
    return b_.splat(
        number, static_cast<int>(
                    llvm::cast<llvm::FixedVectorType>(accumulator_->getType())->getNumElements()));
  }

  Value* make(const EpilogueInstruction& i, Value* x, Value* y, Value* z) {
    auto& ir = b_.ir();
    switch (i.op) {
      case EpilogueOp::kAccumulator:
        return accumulator_;
      case EpilogueOp::kConstant:
        return splat(i.constant);
      case EpilogueOp::kLoad:
        return load_(i.a);
      case EpilogueOp::kAdd:
        return ir.CreateFAdd(x, y);
      case EpilogueOp::kSub:
        return ir.CreateFSub(x, y);
      case EpilogueOp::kMul:
        return ir.CreateFMul(x, y);
      case EpilogueOp::kDiv:
        return ir.CreateFDiv(x, y);
      case EpilogueOp::kMax:
        return math_.maximum(x, y);
      case EpilogueOp::kMin:
        return math_.minimum(x, y);
      case EpilogueOp::kNeg:
        return ir.CreateFNeg(x);
      case EpilogueOp::kAbs:
        return math_.abs(x);
      case EpilogueOp::kRelu:
        return math_.maximum(x, splat(0.0f));
      case EpilogueOp::kExp:
        return math_.exp(x);
      case EpilogueOp::kTanh:
        return math_.tanh(x);
      case EpilogueOp::kErf:
        return math_.erf(x);
      case EpilogueOp::kSigmoid:
        return math_.sigmoid(x);
      case EpilogueOp::kSqrt:
        return math_.sqrt(x);
      case EpilogueOp::kReciprocal:
        return math_.reciprocal(x);
      case EpilogueOp::kSelectPositive:
        return ir.CreateSelect(ir.CreateFCmpOGT(x, splat(0.0f)), y, z);
    }
    return nullptr;
  }

  KernelBuilder& b_;
  MathEmitter math_;
  Value* accumulator_;
  const std::function<Value*(int)>& load_;
  IrValues values_;
};

}  // namespace

bool is_long(const Epilogue& epilogue, int vectors_in_tile) {
  int length = 0;
  for (const EpilogueInstruction& instruction : epilogue.code) length += length_of(instruction.op);
  return length * vectors_in_tile > 320;
}

Value* emit_epilogue(KernelBuilder& b, const Epilogue& epilogue, Value* accumulator,
                     const std::function<Value*(int)>& load) {
  if (epilogue.code.empty()) return accumulator;
  InstructionEmitter emitter(b, accumulator, load);
  for (const EpilogueInstruction& instruction : epilogue.code) emitter.emit(instruction);
  return emitter.last();
}

}  // namespace sluice
