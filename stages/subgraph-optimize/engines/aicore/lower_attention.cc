// Lowers Attention to one kernel, which reads its operands where they lie: by strides along batch,
// heads and rows, so that neither heads within the last axis nor states with capacity for more keys
// are copied.
#include <cmath>

#include "common/ops/attributes.h"
#include "common/target/attention_form.h"
#include "stages/subgraph-optimize/codegen/attention/attention.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"
#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"

namespace sluice {
namespace {

constexpr size_t kMask = 3, kLengths = 6;
constexpr size_t kOperands[] = {0, 1, 2, kMask, kLengths};

// The values that the kernel reads, by input of the node; null for an absent one.
struct StoredInputs {
  Value* values[kLengths + 1] = {};
  Value* operator[](size_t input) const { return values[input]; }
};

Result<AttentionOperand> make_operand(const Value& value, int64_t size, const OperandSizes& sizes) {
  SLUICE_ASSIGN(const std::vector<Extent> strides, sizes.strides(value));
  const bool is_flat = strides.size() == 3;
  return AttentionOperand{strides[0], is_flat ? Extent(size) : strides[1],
                          strides[is_flat ? 1 : 2].factor, value.type().dtype};
}

Result<AttentionMask> make_mask(const Value& value, const OperandSizes& sizes) {
  SLUICE_ASSIGN(std::vector<Extent> strides, sizes.strides(value));
  const std::vector<Dim>& dims = value.type().dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == Dim::fixed(1)) strides[i] = 0;
  }
  strides.insert(strides.begin(), 4 - strides.size(), 0);
  AttentionMask mask{AttentionMaskKind::kBool, strides[0], strides[1], strides[2],
                     strides[3].factor};
  if (value.type().dtype == DType::kBool) return mask;
  mask.kind = AttentionMaskKind::kFloat;
  mask.dtype = value.type().dtype;
  return mask;
}

OperandSizes sizes_of(const Node& attention, const Value& result, const StoredInputs& stored) {
  std::vector<const Type*> types = {&result.type()};
  for (const size_t input : kOperands) {
    if (stored[input] != nullptr) types.push_back(&stored[input]->type());
  }
  return OperandSizes(attention.graph().module(), std::move(types));
}

float scale_of(const Node& attention, const AttentionForm& form) {
  const float scale = attention.get(attributes::Attention::scale);
  return scale != 0 ? scale : static_cast<float>(1 / std::sqrt(static_cast<double>(form.key_size)));
}

// The keys after the last one of a shorter mask are hidden from all queries.
Result<AttentionSpec> make_spec(const Node& attention, const Value& result,
                                const StoredInputs& stored) {
  const auto form = read_attention_form(attention);
  const OperandSizes sizes = sizes_of(attention, result, stored);
  AttentionSpec spec;
  SLUICE_ASSIGN(spec.batch, sizes.of(form->batch));
  SLUICE_ASSIGN(spec.queries, sizes.of(form->queries));
  SLUICE_ASSIGN(spec.keys, sizes.of(form->keys));
  if (form->missing_mask_keys > 0) spec.keys = spec.keys.factor - form->missing_mask_keys;
  spec.heads = form->heads;
  spec.kv_heads = form->kv_heads;
  spec.key_size = form->key_size;
  spec.value_size = form->value_size;
  SLUICE_ASSIGN(spec.q, make_operand(*stored[0], form->key_size, sizes));
  SLUICE_ASSIGN(spec.k, make_operand(*stored[1], form->key_size, sizes));
  SLUICE_ASSIGN(spec.v, make_operand(*stored[2], form->value_size, sizes));
  SLUICE_ASSIGN(spec.y, make_operand(result, form->value_size, sizes));
  if (stored[kMask] != nullptr) {
    SLUICE_ASSIGN(spec.mask, make_mask(*stored[kMask], sizes));
  }
  spec.keeps_nan = attention.has(attributes::Attention::hidden_score);
  if (spec.keeps_nan && spec.mask.kind == AttentionMaskKind::kBool)
    spec.mask.hidden_score = attention.get(attributes::Attention::hidden_score);
  spec.has_lengths = stored[kLengths] != nullptr;
  spec.is_causal = attention.get(attributes::Attention::is_causal) != 0;
  spec.scale = scale_of(attention, *form);
  spec.softcap = attention.get(attributes::Attention::softcap);
  return spec;
}

}  // namespace

Result<void> lower_attention(Lowering& lowering, const Contraction& contraction) {
  StoredInputs stored;
  std::vector<Lowering::Operand> operands;
  for (const size_t input : kOperands) {
    const Value* inside = contraction.anchor->input(input);
    if (inside == nullptr) continue;
    SLUICE_ASSIGN(stored.values[input],
                  lowering.dense(lowering.operand_value(contraction, *inside), contraction.node));
    operands.push_back({inside, stored[input]});
  }
  const Value& result = contraction.node->output();
  SLUICE_ASSIGN(AttentionSpec spec, make_spec(*contraction.anchor, result, stored));
  spec.math = lowering.math();
  const KernelId kernel = lowering.kernel(spec, generate_attention);
  return lowering.replace(contraction, std::move(operands), kernel,
                          dense_map(result.type().dims.size()));
}

}  // namespace sluice
