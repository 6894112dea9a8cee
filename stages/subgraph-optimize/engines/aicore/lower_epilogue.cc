// The rules by which a contraction's epilogue begins and ends (common/loop/epilogue.h); what lies
// between is lowered as it is for the engine vector.
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"
#include "stages/subgraph-optimize/engines/aicore/contraction.h"

namespace sluice {
namespace {

using Id = loop::InstructionId;

class EpilogueLowering {
 public:
  EpilogueLowering(const Contraction& contraction, const QuantizedContraction* quantized)
      : contraction_(contraction), anchor_(*contraction.anchor), quantized_(quantized) {}

  Result<loop::LoweredEpilogue> run() {
    loop::EpilogueRules rules;
    rules.sums = &value_of_sums(anchor_);
    rules.result = contraction_.body == nullptr ? rules.sums : contraction_.body->outputs()[0];
    rules.stored = rules.result->type().dtype;
    rules.begin = [this](loop::Lowering& l, const loop::Index& index, Id sum) {
      return begin(l, index, sum);
    };
    if (quantized_ != nullptr) SLUICE_TRY(quantize(rules));
    return loop::lower_epilogue(*contraction_.node, rules);
  }

 private:
  Result<void> quantize(loop::EpilogueRules& rules) {
    if (quantized_->cast != nullptr) rules.sums = &quantized_->cast->output();
    rules.sum = DType::kI32;
    rules.stored = quantized_->result->type().dtype;
    if (quantized_->y.scale == nullptr) return {};
    SLUICE_ASSIGN(const double step, result_number(quantized_->y.scale));
    int32_t zero = 0;
    if (quantized_->y.zero_point != nullptr) {
      SLUICE_ASSIGN(const double number, result_number(quantized_->y.zero_point));
      zero = static_cast<int32_t>(number);
    }
    double factor = 1;
    if (quantized_->last == nullptr) {
      step_ = step;  // a part of the sum's own factor
    } else {
      rules.result = quantized_->last->input(0);
      factor = 1 / step;
    }
    rules.finish = [factor, zero, to = rules.stored](loop::Lowering& l, Id value) {
      if (factor != 1) value = mul(l, value, l.real(DType::kF32, factor));
      return loop::saturated_steps(l, value, l.integer(to, zero), to);
    };
    return {};
  }

  Result<double> result_number(const Value* value) const {
    const auto number = known_number(contraction_, *value);
    if (number) return *number;
    return make_error(ErrorCode::kInternal,
                      "{}: the scale or zero point of its result is no constant",
                      contraction_.node->label());
  }

  // Computes the anchor's own scaling and bias: alpha * sum + beta * bias.
  Result<Id> begin(loop::Lowering& l, const loop::Index& index, Id sum) {
    const bool is_gemm = anchor_.op() == Op::kGemm;
    if (quantized_ != nullptr) {
      SLUICE_ASSIGN(sum, scaled(l, index, l.cast(sum, DType::kF32)));
      if (is_integer_contraction(anchor_.op())) return sum;
    }
    if (const float alpha = is_gemm ? anchor_.get(attributes::Gemm::alpha) : 1; alpha != 1)
      sum = mul(l, sum, l.real(DType::kF32, alpha));
    const Value* bias = anchor_.op() == Op::kMatMul ? nullptr : anchor_.input(2);
    const float beta = is_gemm ? anchor_.get(attributes::Gemm::beta) : 1;
    if (bias == nullptr || beta == 0) return sum;
    SLUICE_ASSIGN(Id term,
                  is_gemm ? l.broadcast_element(anchor_, 2, index) : l.element(*bias, {index[1]}));
    if (beta != 1) term = mul(l, term, l.real(DType::kF32, beta));
    return add(l, sum, term);
  }

  // Multiplies the sum by the scales of both operands.
  Result<Id> scaled(loop::Lowering& l, const loop::Index& index, Id sum) {
    double known = 1 / step_;
    Id factor = -1;
    const auto multiply = [&](Id next) { factor = factor < 0 ? next : mul(l, factor, next); };
    for (const Value* scale : {quantized_->x.scale, quantized_->w.scale}) {
      if (scale == nullptr) continue;
      if (const auto number = known_number(contraction_, *scale)) {
        known *= *number;
        continue;
      }
      loop::Index own = l.first(*scale);
      if (scale->type().element_count() != 1)
        own.back() = quantized_->is_conv() ? index[1] : index.back();
      SLUICE_ASSIGN(const Id next, l.element(*scale, own));
      multiply(next);
    }
    if (known != 1) multiply(l.real(DType::kF32, known));
    return factor < 0 ? sum : mul(l, sum, factor);
  }

  const Contraction& contraction_;
  const Node& anchor_;
  const QuantizedContraction* quantized_;
  double step_ = 1;
};

}  // namespace

Result<loop::LoweredEpilogue> lower_epilogue(const Contraction& contraction,
                                             const QuantizedContraction* quantized) {
  return EpilogueLowering(contraction, quantized).run();
}

}  // namespace sluice
