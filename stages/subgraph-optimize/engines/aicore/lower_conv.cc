#include "stages/subgraph-optimize/engines/aicore/lowering.h"
#include "stages/subgraph-optimize/engines/aicore/packing.h"

namespace sluice {
namespace {

int64_t number_or(const std::vector<int64_t>& numbers, size_t index, int64_t fallback) {
  return index < numbers.size() ? numbers[index] : fallback;
}

ConvSpec make_spec(const Contraction& contraction) {
  const Node& anchor = *contraction.anchor;
  const std::vector<int64_t> x = *anchor.input(0)->type().extents();
  const std::vector<int64_t> w = *anchor.input(1)->type().extents();
  const std::vector<int64_t> y = *contraction.result().extents();
  const std::vector<int64_t> strides = anchor.ints_attribute("strides");
  const std::vector<int64_t> dilations = anchor.ints_attribute("dilations");
  const std::vector<int64_t> pads = anchor.ints_attribute("pads");
  ConvSpec spec;
  spec.n = x[0], spec.ci = x[1], spec.h = x[2], spec.w = x[3];
  spec.co = y[1], spec.oh = y[2], spec.ow = y[3];
  spec.kh = w[2], spec.kw = w[3];
  spec.stride_h = number_or(strides, 0, 1), spec.stride_w = number_or(strides, 1, 1);
  spec.dilation_h = number_or(dilations, 0, 1), spec.dilation_w = number_or(dilations, 1, 1);
  spec.pad_top = number_or(pads, 0, 0), spec.pad_left = number_or(pads, 1, 0);
  spec.groups = anchor.int_attribute("group", 1);
  return spec;
}

EpilogueAddressing addressing(const ConvSpec& spec) {
  EpilogueAddressing result;
  result.column = EpilogueOperand::column();
  result.full = EpilogueOperand::full(spec.co);
  return result;
}

}  // namespace

// Channels last inside and out: vectors run along the output channels, and padding needs no copy.
Result<void> lower_conv(Lowering& lowering, const Contraction& contraction) {
  Node* before = contraction.node;
  const Value& x_inside = *contraction.anchor->input(0);
  const Value& w_inside = *contraction.anchor->input(1);
  ConvSpec spec = make_spec(contraction);
  const ContractionPlan plan = choose_conv_plan(spec, lowering.profile());
  const ConvPacking packing{spec.co, spec.ci / spec.groups, spec.kh, spec.kw, spec.groups, plan.nr};
  SLUICE_ASSIGN(Value * x, lowering.channels_last(lowering.operand_value(contraction, x_inside), before));
  Value& w_outside = lowering.operand_value(contraction, w_inside);
  SLUICE_ASSIGN(Value * w, lowering.packed(w_outside, [&](Chain& chain) { packing.pack(chain); }, packing.spec(), before));
  std::vector<Lowering::Operand> operands = {{&x_inside, x}, {&w_inside, w, [packing](Chain& chain) { packing.unpack(chain); }}};
  SLUICE_ASSIGN(TranslatedEpilogue translated, translate_epilogue(contraction, addressing(spec)));
  spec.epilogue = std::move(translated.epilogue);
  for (const Value* inside : translated.operands) {
    SLUICE_ASSIGN(Value * value, lowering.channels_last(lowering.operand_value(contraction, *inside), before));
    operands.push_back({inside, value});
  }
  SLUICE_ASSIGN(const KernelId kernel, lowering.kernel(spec, generate_conv));
  lowering.store_channels_last(lowering.replace(contraction, operands, kernel).output());
  return {};
}

}  // namespace sluice
