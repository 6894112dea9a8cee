#include "common/target/formats.h"

#include <algorithm>

#include "common/ir/fixed.h"
#include "common/ir/value_storage.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/target/aicore.h"
#include "common/target/quantized.h"

namespace sluice {
namespace {

FormatPreferences all(const Node& node, FormatPreference preference) {
  return {std::vector(node.input_count(), preference),
          std::vector(node.output_count(), preference)};
}

// ---- aicore

// Fewer channels of a group leave lanes of a vector idle; kernels of dense tensors run along
// pixels.
constexpr int64_t kFewChannels = 8;

bool is_depthwise(const Node& conv) {
  const int64_t groups = conv.get(attributes::Conv::group);
  const std::vector<Dim>& weight = conv.input(1)->type().dims;
  return groups > 1 && weight[0] == Dim::fixed(groups) && weight[1] == Dim::fixed(1);
}

FormatPreference preference_of(const Node& conv) {
  if (conv.op() != Op::kConv || is_depthwise(conv)) return FormatPreference::kPrefersNhwc;
  const int64_t channels =
      value_of_sums(conv).type().dims[1].value / conv.get(attributes::Conv::group);
  return channels < kFewChannels ? FormatPreference::kPrefersDense : FormatPreference::kPrefersNhwc;
}

// Returns the node's value that a value of its body, or of itself, stands for.
const Value* outside_of(const Node& node, const Value* inside) {
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  if (body == nullptr || inside == nullptr) return inside;
  for (size_t i = 0; i < body->inputs().size(); ++i)
    if (body->inputs()[i] == inside) return node.input(i);
  return nullptr;
}

// The convolution that a node is or has as its anchor, with the value that it reads.
struct ConvNode {
  const Node* anchor = nullptr;  // null: it is none
  const Value* x = nullptr;
};

ConvNode find_conv(const Node& node) {
  if (const auto quantized = read_quantized(node)) {
    if (!quantized->is_conv()) return {};
    return {quantized->anchor, outside_of(node, quantized->x.integers)};
  }
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  const Node* anchor = body == nullptr ? &node : find_anchor(*body);
  if (anchor == nullptr || anchor->op() != Op::kConv) return {};
  return {anchor, outside_of(node, anchor->input(0))};
}

FormatPreferences contraction_preferences(const Node& node) {
  FormatPreferences preferences = all(node, FormatPreference::kDense);
  const ConvNode conv = find_conv(node);
  if (conv.anchor == nullptr) return preferences;
  const FormatPreference own = preference_of(*conv.anchor);
  preferences.outputs[0] = own;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (input == nullptr) continue;
    if (input == conv.x) {
      preferences.inputs[i] = own;
    } else if (input->type().dims == node.output().type().dims) {
      preferences.inputs[i] = FormatPreference::kSame;  // an operand of the epilogue
    }
  }
  return preferences;
}

// ---- vector

// Returns whether the loops of a node run over every axis but the channels' in the same way, or
// over the channels as a whole.
bool keeps_axes(Op op) {
  switch (op) {
    case Op::kAveragePool:
    case Op::kBatchNormalization:
    case Op::kConcat:
    case Op::kDequantizeLinear:
    case Op::kInstanceNormalization:
    case Op::kInterleave:
    case Op::kLRN:
    case Op::kLogSoftmax:
    case Op::kLpPool:
    case Op::kMaxPool:
    case Op::kPad:
    case Op::kQuantizeLinear:
    case Op::kResize:
    case Op::kSlice:
    case Op::kSoftmax:
    case Op::kSplit:
    case Op::kUpsample:
      return true;
    default:
      const OpRow* row = find_op(op);
      return row != nullptr && (row->flags & kElementwise) != 0;
  }
}

// Returns whether a node's loops are as good over any order of the axes that they read.
bool reads_any(Op op) {
  switch (op) {
    case Op::kArgMax:
    case Op::kArgMin:
    case Op::kGlobalAveragePool:
    case Op::kGlobalLpPool:
    case Op::kGlobalMaxPool:
    case Op::kReduceL1:
    case Op::kReduceL2:
    case Op::kReduceLogSum:
    case Op::kReduceLogSumExp:
    case Op::kReduceMax:
    case Op::kReduceMean:
    case Op::kReduceMin:
    case Op::kReduceProd:
    case Op::kReduceSum:
    case Op::kReduceSumSquare:
    case Op::kTranspose:
      return true;
    default:
      return false;
  }
}

FormatPreference loop_preference(const Node& node) {
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  if (body == nullptr) {
    if (keeps_axes(node.op())) return FormatPreference::kSame;
    return reads_any(node.op()) ? FormatPreference::kAny : FormatPreference::kDense;
  }
  FormatPreference preference = FormatPreference::kSame;
  for (const Node& inner : body->nodes()) {
    const FormatPreference own = loop_preference(inner);
    if (own == FormatPreference::kDense) return own;
    if (own == FormatPreference::kAny) preference = own;
  }
  return preference;
}

}  // namespace

bool takes_formats(EngineId engine) {
  return engine == EngineId::kAicore || engine == intern_engine("vector");
}

FormatPreferences format_preferences(const Node& node, EngineId engine) {
  if (engine == EngineId::kAicore) return contraction_preferences(node);
  return all(node,
             engine == intern_engine("vector") ? loop_preference(node) : FormatPreference::kDense);
}

bool takes_rows(const Node& node, const Value& value, size_t axis, EngineId engine) {
  if (engine == intern_engine("vector")) return dtype_bits(value.type().dtype) % 8 == 0;
  if (engine != EngineId::kAicore || read_quantized(node)) return false;
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  const Node* anchor = body == nullptr ? &node : find_anchor(*body);
  if (anchor == nullptr) return false;
  if (anchor->op() == Op::kConv) {
    const StorageMap map = storage_map_of(value);
    return !is_depthwise(*anchor) && map == nhwc_map(map.size()) && axis + 1 == map.size();
  }
  return (anchor->op() == Op::kMatMul || anchor->op() == Op::kGemm) && is_stored_dense(value);
}

bool is_formattable(const Value& value) {
  const Type& type = value.type();
  return has_formats(type) && type.rank() <= 5 && !value.is_constant() &&
         dtype_bits(type.dtype) % 8 == 0 && has_computed_size(type);
}

}  // namespace sluice
