#include "common/target/attention_form.h"

#include <algorithm>

#include "common/base/limits.h"
#include "common/ops/attributes.h"
#include "common/ops/dim_math.h"
#include "common/target/aicore.h"

namespace sluice {
namespace {

struct Heads {
  Dim batch;
  int64_t heads = 0;
  Dim length;
  int64_t size = 0;
};

bool is_known(const Value* value) {
  return value != nullptr && value->type().is_tensor() && !value->type().has_unknown();
}

// Reads [batch, heads, sequence, size], or [batch, sequence, heads * size].
std::optional<Heads> read_heads(const Value* value, int64_t heads) {
  if (!is_known(value) || !is_contraction_dtype(value->type().dtype)) return std::nullopt;
  const std::vector<Dim>& dims = value->type().dims;
  if (dims.size() == 4 && dims[1].is_fixed() && dims[3].is_fixed())
    return Heads{dims[0], dims[1].value, dims[2], dims[3].value};
  if (dims.size() != 3 || heads < 1 || !dims[2].is_fixed() || dims[2].value % heads != 0)
    return std::nullopt;
  return Heads{dims[0], heads, dims[1], dims[2].value / heads};
}

bool match(const Heads& q, const Heads& k, const Heads& v) {
  return q.batch == k.batch && q.batch == v.batch && k.length == v.length && k.heads == v.heads &&
         q.size == k.size && k.heads > 0 && q.heads % k.heads == 0;
}

// Returns the keys with those of the past; nothing when the past does not fit.
std::optional<Dim> all_keys(const Node& node, const Heads& k, const Heads& v) {
  const Value *past_keys = node.input(4), *past_values = node.input(5);
  if (past_keys == nullptr && past_values == nullptr) return k.length;
  if (!is_known(past_keys) || !is_known(past_values)) return std::nullopt;
  const auto fits = [](const Value& past, const Value& now, const Heads& heads, const Dim& length) {
    return past.type() == Type::tensor(now.type().dtype, {heads.batch, Dim::fixed(heads.heads),
                                                          length, Dim::fixed(heads.size)});
  };
  if (past_keys->type().rank() != 4) return std::nullopt;
  const Dim& length = past_keys->type().dims[2];
  if (!fits(*past_keys, *node.input(1), k, length) ||
      !fits(*past_values, *node.input(2), v, length))
    return std::nullopt;
  const Dim sum = DimMath(node.graph().module()).add(length, k.length);
  return sum.is_unknown() ? std::nullopt : std::optional(sum);
}

// Returns by how many keys the mask is shorter; nothing when it may or may not fit the scores.
std::optional<int64_t> missing_keys(const Value* mask, const AttentionForm& form) {
  if (mask == nullptr) return 0;
  if (!is_known(mask) || mask->type().dtype == DType::kF64 || mask->type().dims.empty() ||
      mask->type().rank() > 4)
    return std::nullopt;
  const std::vector<Dim>& dims = mask->type().dims;
  const std::vector<Dim> scores = {form.batch, Dim::fixed(form.heads), form.queries, form.keys};
  const size_t offset = scores.size() - dims.size();
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    if (dims[i] != Dim::fixed(1) && dims[i] != scores[offset + i]) return std::nullopt;
  }
  if (dims.back() == Dim::fixed(1) || dims.back() == form.keys) return 0;
  const bool is_shorter = dims.back().is_fixed() && form.keys.is_fixed() && dims.back().value > 0 &&
                          dims.back().value < form.keys.value;
  return is_shorter ? std::optional(form.keys.value - dims.back().value) : std::nullopt;
}

bool is_empty(const AttentionForm& form) {
  const Dim zero = Dim::fixed(0);
  return form.batch == zero || form.queries == zero || form.keys == zero || form.heads == 0 ||
         form.key_size == 0 || form.value_size == 0;
}

bool has_result(const Node& node, size_t index, DType dtype, const std::vector<Dim>& dims) {
  return index >= node.output_count() || !node.output(index).is_used() ||
         node.output(index).type() == Type::tensor(dtype, dims);
}

// Returns whether the results have the types that the nodes instead would give.
bool has_own_results(const Node& node, const AttentionForm& form) {
  const DType dtype = node.input(0)->type().dtype;
  const Dim heads = Dim::fixed(form.heads), kv_heads = Dim::fixed(form.kv_heads);
  const Dim key_size = Dim::fixed(form.key_size), value_size = Dim::fixed(form.value_size);
  std::vector<Dim> y = {form.batch, heads, form.queries, value_size};
  if (node.input(0)->type().rank() == 3)
    y = {form.batch, form.queries, Dim::fixed(form.heads * form.value_size)};
  return has_result(node, 0, dtype, y) &&
         has_result(node, 1, node.input(1)->type().dtype,
                    {form.batch, kv_heads, form.keys, key_size}) &&
         has_result(node, 2, node.input(2)->type().dtype,
                    {form.batch, kv_heads, form.keys, value_size}) &&
         has_result(node, 3, dtype, {form.batch, heads, form.queries, form.keys});
}

// The number of valid keys of each row of the batch.
bool lengths_fit(const Value* lengths, const AttentionForm& form) {
  return lengths == nullptr ||
         (is_known(lengths) && lengths->type().dims == std::vector{form.batch});
}

// Reads what Attention has more than FlexAttention; returns whether it fits.
bool read_cache_and_mask(const Node& node, const Heads& k, const Heads& v, AttentionForm& form) {
  const int64_t mode = node.get(attributes::Attention::qk_matmul_output_mode);
  const auto keys = all_keys(node, k, v);
  if (mode < 0 || mode > 3 || !keys) return false;
  form.keys = *keys;
  const auto missing = missing_keys(node.input(3), form);
  form.missing_mask_keys = missing.value_or(0);
  return missing && lengths_fit(node.input(6), form);
}

}  // namespace

std::optional<AttentionForm> read_attention_form(const Node& node) {
  const int64_t kv_heads = node.get(attributes::Attention::kv_num_heads);
  const auto q = read_heads(node.input(0), node.get(attributes::Attention::q_num_heads));
  const auto k = read_heads(node.input(1), kv_heads), v = read_heads(node.input(2), kv_heads);
  if (!q || !k || !v || !match(*q, *k, *v)) return std::nullopt;
  AttentionForm form{.batch = q->batch,
                     .heads = q->heads,
                     .kv_heads = k->heads,
                     .queries = q->length,
                     .new_keys = k->length,
                     .keys = k->length,
                     .key_size = k->size,
                     .value_size = v->size};
  if ((node.op() == Op::kAttention && !read_cache_and_mask(node, *k, *v, form)) || is_empty(form) ||
      !has_own_results(node, form))
    return std::nullopt;
  return form;
}

bool sees_all_keys(const Node& attention, const AttentionForm& form) {
  return form.queries == Dim::fixed(1) &&
         (attention.input(6) != nullptr || form.new_keys == Dim::fixed(1));
}

bool has_states(const Node& attention) {
  return attention.input(4) != nullptr || attention.output_count() > 1;
}

std::string kernel_unsupported_reason(const Node& attention, const AttentionForm& form) {
  if (const Value* mask = attention.input(3)) {
    const DType own = mask->type().dtype;
    if (own != DType::kBool && !is_contraction_dtype(own))
      return fmt::format("a mask of dtype {}, only f32, f16, bf16 and bool", dtype_name(own));
  }
  if (attention.input(6) != nullptr && attention.input(6)->type().dtype != DType::kI64)
    return "numbers of keys that are not of i64";
  if (attention.output_count() > 3 && attention.output(3).is_used()) return "scores as a result";
  // Some vectors of rows then fit into scratch: queries, and sums of values.
  constexpr auto kMaxSize = static_cast<int64_t>(kScratchLimit / sizeof(float) / 256);
  if (std::max(form.key_size, form.value_size) > kMaxSize)
    return fmt::format("heads of more than {} elements", kMaxSize);
  return {};
}

std::string attention_unsupported_reason(const Node& attention) {
  if (has_states(attention)) return "a past, or more results than one";
  const DType dtype = attention.input(0)->type().dtype;
  if (!is_contraction_dtype(dtype))
    return fmt::format("dtype {}, only f32, f16 and bf16", dtype_name(dtype));
  const auto form = read_attention_form(attention);
  if (!form) return "operands that may or may not fit each other, or heads that are not fixed";
  return kernel_unsupported_reason(attention, *form);
}

}  // namespace sluice
