#include "stages/subgraph-optimize/codegen/recurrent/activation_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

// Writes formulas of one type.
class Formula {
 public:
  Formula(llvm::IRBuilder<>& ir, MathEmitter& math, const CellActivation& activation, Value* x)
      : ir_(ir),
        math_(math),
        x_(x),
        alpha_(number(activation.alpha)),
        beta_(number(activation.beta)) {}

  Value* affine() { return ir_.CreateFAdd(ir_.CreateFMul(alpha_, x_), beta_); }
  Value* elu() { return where_negative(ir_.CreateFMul(alpha_, math_.expm1(x_)), x_); }
  Value* hard_sigmoid() { return math_.minimum(number(1), math_.maximum(number(0), affine())); }
  Value* leaky_relu() { return where_negative(ir_.CreateFMul(alpha_, x_), x_); }
  Value* relu() { return where_negative(number(0), x_); }
  Value* scaled_tanh() { return ir_.CreateFMul(alpha_, math_.tanh(ir_.CreateFMul(beta_, x_))); }
  Value* softplus() { return math_.log1p(math_.exp(x_)); }
  Value* softsign() { return ir_.CreateFDiv(x_, ir_.CreateFAdd(number(1), math_.abs(x_))); }
  Value* thresholded_relu() {
    return ir_.CreateSelect(ir_.CreateFCmpOGT(x_, alpha_), x_, number(0));
  }

 private:
  Value* number(double value) { return llvm::ConstantFP::get(x_->getType(), value); }
  Value* where_negative(Value* yes, Value* no) {
    return ir_.CreateSelect(ir_.CreateFCmpOLT(x_, number(0)), yes, no);
  }

  llvm::IRBuilder<>& ir_;
  MathEmitter& math_;
  Value* x_;
  Value *alpha_, *beta_;
};

}  // namespace

Value* emit_activation(llvm::IRBuilder<>& ir, MathEmitter& math, const CellActivation& activation,
                       Value* x) {
  Formula formula(ir, math, activation, x);
  switch (activation.kind) {
    case ActivationKind::kAffine:
      return formula.affine();
    case ActivationKind::kElu:
      return formula.elu();
    case ActivationKind::kHardSigmoid:
      return formula.hard_sigmoid();
    case ActivationKind::kLeakyRelu:
      return formula.leaky_relu();
    case ActivationKind::kRelu:
      return formula.relu();
    case ActivationKind::kScaledTanh:
      return formula.scaled_tanh();
    case ActivationKind::kSigmoid:
      return math.sigmoid(x);
    case ActivationKind::kSoftplus:
      return formula.softplus();
    case ActivationKind::kSoftsign:
      return formula.softsign();
    case ActivationKind::kTanh:
      return math.tanh(x);
    case ActivationKind::kThresholdedRelu:
      return formula.thresholded_relu();
  }
  return x;
}

}  // namespace sluice
