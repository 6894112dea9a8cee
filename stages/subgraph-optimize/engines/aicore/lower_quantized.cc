// Contractions over integers of 8 bits become one kernel each: sums of products of integers, then
// the epilogue in floats, then rounding.
#include <algorithm>

#include "stages/subgraph-optimize/codegen/int8.h"
#include "stages/subgraph-optimize/engines/aicore/int8_packing.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"
#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"

namespace sluice {
namespace {

class QuantizedLowering {
 public:
  QuantizedLowering(Lowering& lowering, const Contraction& contraction,
                    const QuantizedContraction& quantized)
      : lowering_(lowering), contraction_(contraction), q_(quantized) {}

  Result<void> run() {
    SLUICE_ASSIGN(spec_.conv, q_.is_conv()
                                  ? make_conv_spec(*q_.anchor, *q_.x.integers, *q_.w.integers)
                                  : matrix_product());
    SLUICE_TRY(set_numbers());
    choose_packing();
    SLUICE_TRY(add_integers());
    SLUICE_TRY(add_epilogue());
    const KernelId kernel = add_kernel();
    add_remainder();
    Node& node = lowering_.replace(contraction_, operands_, kernel);
    if (q_.is_conv()) lowering_.store_channels_last(node.output());
    return {};
  }

 private:
  Module& module() const { return lowering_.graph().module(); }
  // Returns the graph's constant that a value of the contraction's own graph stands for.
  const Value* outside(const Value* inside) const {
    if (inside == nullptr) return nullptr;
    const Value* value = contraction_.outside(*inside);
    return value == nullptr ? inside : value;
  }

  // Returns a convolution in which each row of the first operand is an image of one pixel.
  Result<ConvSpec> matrix_product() const {
    const Type& type = q_.x.integers->type();
    SLUICE_ASSIGN(const std::vector<Extent> x,
                  OperandSizes(module(), {&q_.result->type(), &type}).of(type));
    const std::vector<int64_t> w = *q_.w.integers->type().extents();
    ConvSpec spec;
    for (size_t i = 0; i + 1 < x.size(); ++i) spec.n *= x[i];
    spec.ci = x.back().factor;
    spec.co = w[static_cast<size_t>(column_axis(*q_.anchor))];
    return spec;
  }

  Result<void> set_numbers() {
    Int8Numbers& numbers = spec_.numbers;
    numbers.x_signed = q_.x.integers->type().dtype == DType::kI8;
    if (q_.x.zero_point != nullptr) {
      const auto zero = known_number(contraction_, *q_.x.zero_point);
      numbers.x_zero_is_operand = !zero.has_value();
      numbers.x_zero = static_cast<int32_t>(zero.value_or(0));
    }
    numbers.has_bias = q_.bias != nullptr;
    switch (q_.result->type().dtype) {
      case DType::kF32:
        numbers.result = Int8Result::kF32;
        break;
      case DType::kI8:
        numbers.result = Int8Result::kI8;
        break;
      case DType::kU8:
        numbers.result = Int8Result::kU8;
        break;
      case DType::kI32:
        numbers.result = Int8Result::kI32;
        break;
      default:
        return make_error(ErrorCode::kInternal, "{}: no kernel makes results of {}",
                          contraction_.node->label(), dtype_name(q_.result->type().dtype));
    }
    if (q_.y.zero_point == nullptr) return {};
    const auto zero = known_number(contraction_, *q_.y.zero_point);
    if (!zero)
      return make_error(ErrorCode::kInternal, "{}: the zero point of its result is no constant",
                        contraction_.node->label());
    numbers.y_zero = static_cast<int32_t>(*zero);
    return {};
  }

  void choose_packing() {
    const ConvSpec& s = spec_.conv;
    const Value& w = *q_.w.integers;
    packing_.dims = *w.type().extents();
    packing_.dtype = w.type().dtype;
    packing_.is_matrix = !q_.is_conv();
    packing_.transposed = column_axis(*q_.anchor) == 0;
    packing_.co = s.co, packing_.ci_per_group = s.ci / s.groups, packing_.kh = s.kh,
    packing_.kw = s.kw, packing_.groups = s.groups;
    const Int8DepthwisePlan depthwise = choose_int8_depthwise_plan(s, lowering_.profile());
    packing_.is_depthwise = s.groups > 1 && depthwise.possible;
    spec_.numbers.has_w_zero = has_zero_points(packing_, outside(q_.w.zero_point));
    const Int8Plan plan = choose_int8_plan(spec_, lowering_.profile());
    packing_.unit = plan.unit;
    packing_.nr = packing_.is_depthwise ? depthwise.nr : plan.tiles.nr;
  }

  Result<void> add_integers() {
    Node* before = contraction_.node;
    Value& x_outside = lowering_.operand_value(contraction_, *q_.x.integers);
    SLUICE_ASSIGN(Value * x, q_.is_conv() ? lowering_.channels_last(x_outside, before)
                                          : lowering_.dense(x_outside, before));
    operands_.push_back({q_.x.integers, x});
    const Value& w = lowering_.operand_value(contraction_, *q_.w.integers);
    const auto pack = [this](Chain& chain) { packing_.pack(chain); };
    const SegmentId packed = make_chain_expression(module(), w.segment(), "pack", pack);
    operands_.push_back({q_.w.integers, &add_constant(packed, w.name() + ":packed"), unpacking()});
    const Value* w_zero = outside(q_.w.zero_point);
    operands_.push_back(
        {nullptr, &add_constant(make_weight_sums(module(), packing_, w.segment(), w_zero),
                                w.name() + ":sums")});
    if (spec_.numbers.has_w_zero)
      operands_.push_back({nullptr, &add_constant(make_zero_points(module(), packing_, w_zero),
                                                  w.name() + ":zero")});
    if (q_.bias != nullptr)
      operands_.push_back({q_.bias, &lowering_.operand_value(contraction_, *q_.bias)});
    if (spec_.numbers.x_zero_is_operand)
      operands_.push_back(
          {q_.x.zero_point, &lowering_.operand_value(contraction_, *q_.x.zero_point)});
    return {};
  }

  Value& add_constant(SegmentId segment, const std::string& name) {
    return lowering_.graph().add_constant(segment, name);
  }

  BuildChain unpacking() const {
    return [packing = packing_](Chain& chain) { packing.unpack(chain); };
  }

  Result<void> add_epilogue() {
    if (spec_.numbers.result == Int8Result::kI32) return {};
    EpilogueAddressing addressing;
    addressing.column = EpilogueOperand::column();
    addressing.row = EpilogueOperand::row(1);
    addressing.full = EpilogueOperand::full(spec_.conv.co);
    SLUICE_ASSIGN(TranslatedEpilogue translated, translate_epilogue(contraction_, addressing, &q_));
    spec_.conv.epilogue = std::move(translated.epilogue);
    for (const Value* inside : translated.operands) {
      Value& value = lowering_.operand_value(contraction_, *inside);
      SLUICE_ASSIGN(Value * stored, q_.is_conv() ? lowering_.channels_last(value, contraction_.node)
                                                 : lowering_.dense(value, contraction_.node));
      operands_.push_back({inside, stored});
    }
    return {};
  }

  KernelId add_kernel() {
    if (packing_.is_depthwise)
      return lowering_.kernel(Int8DepthwiseSpec{spec_.conv, spec_.numbers},
                              generate_int8_depthwise);
    return lowering_.kernel(spec_, generate_int8_conv);
  }

  // Adds operands that the kernel does not read but its body does: scales and zero points that are
  // in its code.
  void add_remainder() {
    const auto is_operand = [&](const Value* inside) {
      return std::any_of(operands_.begin(), operands_.end(), [&](const Lowering::Operand& operand) {
        return operand.inside == inside;
      });
    };
    if (contraction_.body != nullptr) {
      for (Value* input : contraction_.body->inputs()) {
        if (!is_operand(input))
          operands_.push_back({input, &lowering_.operand_value(contraction_, *input)});
      }
      return;
    }
    for (size_t i = 0; i < q_.anchor->input_count(); ++i) {
      Value* input = q_.anchor->input(i);
      if (input == nullptr || is_operand(input)) continue;
      const bool lies_inside = input->is_constant() && !input->is_input();
      if (!lies_inside) operands_.push_back({input, input});
    }
  }

  Lowering& lowering_;
  const Contraction& contraction_;
  const QuantizedContraction& q_;
  Int8ConvSpec spec_;
  Int8Packing packing_;
  std::vector<Lowering::Operand> operands_;
};

}  // namespace

Result<void> lower_quantized(Lowering& lowering, const Contraction& contraction,
                             const QuantizedContraction& quantized) {
  return QuantizedLowering(lowering, contraction, quantized).run();
}

}  // namespace sluice
