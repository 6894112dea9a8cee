// Contractions over integers of 8 bits become one kernel each: sums of products of integers, then
// the epilogue in floats, then rounding.
#include <algorithm>

#include "stages/subgraph-optimize/codegen/int8/int8.h"
#include "stages/subgraph-optimize/engines/aicore/int8_packing.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"
#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"

namespace sluice {
namespace {

class QuantizedLowering {
 public:
  QuantizedLowering(Lowering& lowering, const Contraction& contraction,
                    const QuantizedContraction& quantized)
      : lowering_(lowering), contraction_(contraction), q_(quantized) {
    const size_t rank = q_.result->type().dims.size();
    map_ = q_.is_conv() ? nhwc_map(rank) : dense_map(rank);
  }

  Result<void> run() {
    SLUICE_ASSIGN(spec_.conv, q_.is_conv()
                                  ? make_conv_spec(*q_.anchor, *q_.x.integers, *q_.w.integers)
                                  : matrix_product());
    set_numbers();
    choose_packing();
    SLUICE_TRY(add_integers());
    SLUICE_TRY(add_epilogue());
    const KernelId kernel = add_kernel();
    return lowering_.replace(contraction_, std::move(operands_), kernel, map_);
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

  void set_numbers() {
    Int8Numbers& numbers = spec_.numbers;
    numbers.x_signed = q_.x.integers->type().dtype == DType::kI8;
    if (q_.x.zero_point != nullptr) {
      const auto zero = known_number(contraction_, *q_.x.zero_point);
      numbers.x_zero_is_operand = !zero.has_value();
      numbers.x_zero = static_cast<int32_t>(zero.value_or(0));
    }
    numbers.has_bias = q_.bias != nullptr;
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
    SLUICE_ASSIGN(Value * x, q_.is_conv() ? lowering_.stored(x_outside, map_, before)
                                          : lowering_.dense(x_outside, before));
    operands_.push_back({q_.x.integers, x});
    Value& w = lowering_.operand_value(contraction_, *q_.w.integers);
    const bool is_known =
        w.is_constant() && (q_.w.zero_point == nullptr || outside(q_.w.zero_point)->is_constant());
    SLUICE_TRY(is_known ? add_weights(w) : add_computed_weights(w));
    if (q_.bias != nullptr)
      operands_.push_back({q_.bias, &lowering_.operand_value(contraction_, *q_.bias)});
    if (spec_.numbers.x_zero_is_operand)
      operands_.push_back(
          {q_.x.zero_point, &lowering_.operand_value(contraction_, *q_.x.zero_point)});
    return {};
  }

  // Packs weights that are constants.
  Result<void> add_weights(const Value& w) {
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
    return {};
  }

  // Packs weights that are known only when the model runs, by nodes before the kernel's.
  Result<void> add_computed_weights(Value& w) {
    const auto compute = [&](const std::vector<Value*>& inputs, const std::string& name,
                             const BuildChain& build) {
      const auto in_body = [&](Graph& body) -> Value& {
        Chain chain(body, *body.inputs()[0]);
        build(chain);
        return chain.value();
      };
      return lowering_.computed(inputs, in_body, w.name() + name, contraction_.node);
    };
    SLUICE_ASSIGN(Value * packed,
                  compute({&w}, ":packed", [this](Chain& chain) { packing_.pack(chain); }));
    operands_.push_back({q_.w.integers, packed, unpacking()});
    std::vector<Value*> summed = {&w};
    if (q_.w.zero_point != nullptr)
      summed.push_back(&lowering_.operand_value(contraction_, *q_.w.zero_point));
    SLUICE_ASSIGN(Value * sums, compute(summed, ":sums", [&](Chain& chain) {
                    Value* zeros = summed.size() > 1 ? chain.graph().inputs()[1] : nullptr;
                    sum_weights(packing_, zeros, chain);
                  }));
    operands_.push_back({nullptr, sums});
    if (!spec_.numbers.has_w_zero) return {};
    if (summed.size() == 1) {
      const SegmentId zeros = make_zero_points(module(), packing_, nullptr);
      operands_.push_back({nullptr, &add_constant(zeros, w.name() + ":zero")});
      return {};
    }
    SLUICE_ASSIGN(Value * zeros, compute({summed[1]}, ":zero", [this](Chain& chain) {
                    spread_zero_points(packing_, chain);
                  }));
    operands_.push_back({nullptr, zeros});
    return {};
  }

  Value& add_constant(SegmentId segment, const std::string& name) {
    return lowering_.graph().add_constant(segment, name);
  }

  BuildChain unpacking() const {
    return [packing = packing_](Chain& chain) { packing.unpack(chain); };
  }

  Result<void> add_epilogue() {
    if (q_.result->type().dtype == DType::kI32) return {};
    SLUICE_ASSIGN(const loop::LoweredEpilogue lowered, lower_epilogue(contraction_, &q_));
    if (q_.is_conv())
      return add_conv_epilogue(lowering_, contraction_, lowered, map_, Rows::kWhole, spec_.conv,
                               operands_);
    return add_matrix_epilogue(lowered);
  }

  // All axes but the last are the rows.
  Result<void> add_matrix_epilogue(const loop::LoweredEpilogue& lowered) {
    const Type& result = q_.result->type();
    const OperandSizes sizes(module(), {&result});
    SLUICE_ASSIGN(const std::vector<Extent> dims, sizes.of(result));
    Epilogue& epilogue = spec_.conv.epilogue;
    epilogue.loops = lowered.loops;
    epilogue.math = lowering_.math();
    for (const loop::EpilogueRead& read : lowered.reads) {
      SLUICE_ASSIGN(
          Value * stored,
          lowering_.dense(lowering_.operand_value(contraction_, *read.value), contraction_.node));
      operands_.push_back({read.value, stored});
      SLUICE_ASSIGN(const std::vector<Extent> strides, sizes.walked_strides(read, *stored));
      const auto rows = joined_stride(dims, strides, 0, dims.size() - 1);
      if (!rows)
        return make_error(ErrorCode::kNotLowerable,
                          "{}: an operand of its epilogue is broadcast along some of the rows",
                          contraction_.node->label());
      epilogue.operands.push_back({{}, *rows, strides.back()});
    }
    return {};
  }

  KernelId add_kernel() {
    if (packing_.is_depthwise)
      return lowering_.kernel(Int8DepthwiseSpec{spec_.conv, spec_.numbers},
                              generate_int8_depthwise);
    return lowering_.kernel(spec_, generate_int8_conv);
  }

  Lowering& lowering_;
  const Contraction& contraction_;
  const QuantizedContraction& q_;
  StorageMap map_;  // kernels of convolutions have pixels as rows
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
