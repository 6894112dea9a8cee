// DecoderMaskedMultiHeadAttention computes attention of one new token, to its own sequence in
// buffers that past and present share, or across, to keys and values [batch, heads, length, size]
// that stay the same. Buffers have the layout of ONNX Runtime's CPU kernels, not reordered as on
// GPUs.
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/heads.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/shared_buffer.h"

namespace sluice {
namespace {

using DecoderAttributes = microsoft_attributes::DecoderMaskedMultiHeadAttention;

Result<void> check_decoder_form(const ExpandCall& call) {
  if (call.get(DecoderAttributes::output_qk) != 0 || call.wants(3))
    return call.unsupported("output 3 'qk' is not supported");
  if ((call.input(1) == nullptr) != (call.input(2) == nullptr))
    return call.bad("inputs 'key' and 'value' come together");
  if ((call.input(5) == nullptr) != (call.input(6) == nullptr))
    return call.bad("inputs 'past_key' and 'past_value' come together");
  const auto* beams = call.input(8) == nullptr || call.facts == nullptr
                          ? nullptr
                          : call.facts->find(*call.input(8));
  const bool one_beam =
      beams == nullptr ||
      (beams->size() == 1 && call.graph.module().expressions.as_constant(beams->front()) == 1);
  if (!one_beam && call.input(9) == nullptr)
    return call.bad("input 8 'beam_width' is not 1, and input 9 'cache_indirection' is absent");
  const Type& query = call.input(0)->type();
  SLUICE_ASSIGN(const int64_t rank, call.rank(0));
  if (rank != 3) return call.bad("input 0 'query' has rank {}, expected 3", rank);
  if (!query.dims[1].is_fixed() || query.dims[1].value == 1) return {};
  return call.bad("input 0 'query' holds {} tokens of each sequence, expected 1",
                  query.dims[1].value);
}

Result<void> attend_across(ExpandCall& call, int64_t heads) {
  if (call.wants(1) || call.wants(2))
    return call.bad("outputs 'present_key' and 'present_value' need input 5 'past_key'");
  if (call.input(1) == nullptr)
    return call.bad("input 1 'key' is absent, and there is no input 5 'past_key'");
  for (const size_t i : {1, 2}) {
    SLUICE_ASSIGN(const int64_t rank, call.rank(i));
    if (rank != 4)
      return call.bad("input {} has rank {}, expected 4 where there is no input 5 'past_key'", i,
                      rank);
  }
  Value* q = split_heads(call, with_bias(call, call.input(10), {call.input(0), nullptr, nullptr}).q,
                         heads);
  const ScoreSizes sizes{call.dim(q, 0), call.dim(q, 2), call.dim(call.input(1), 2)};
  SLUICE_ASSIGN(Value * mask, key_mask(call, 3, sizes, call.input(0)));
  Node& node = call.add_node(
      Op::kAttention, {q, call.input(1), call.input(2), sum_of(call, mask, call.input(4))}, 1);
  if (const float scale = call.get(DecoderAttributes::scale); scale != 0)
    node.set(attributes::Attention::scale, scale);
  call.results[0] = join_heads(call, &node.output());
  return {};
}

// Reads Q, K and V, separate or side by side in the query.
Result<Projections> read_projections(ExpandCall& call) {
  if (call.input(1) != nullptr) {
    for (const size_t i : {1, 2}) {
      SLUICE_ASSIGN(const int64_t rank, call.rank(i));
      if (rank != 3) return call.bad("input {} has rank {}, expected 3", i, rank);
    }
    return with_bias(call, call.input(10), {call.input(0), call.input(1), call.input(2)});
  }
  const Dim& width = call.input(0)->type().dims[2];
  if (width.is_fixed() && width.value % 3 != 0)
    return call.bad("{} elements of input 0 are no query, key and value of one size", width.value);
  Node& parts = call.add_node(Op::kSplit, {call.input(0)}, 3,
                              {{"axis", int64_t{-1}}, {"num_outputs", int64_t{3}}});
  return with_bias(call, call.input(10), {&parts.output(0), &parts.output(1), &parts.output(2)});
}

}  // namespace

// The inputs are query, key, value, mask_index, attention_bias, past_key, past_value,
// past_sequence_length, beam_width, cache_indirection, bias.
Result<void> expand_decoder_masked_multi_head_attention(ExpandCall& call) {
  SLUICE_TRY(check_decoder_form(call));
  SLUICE_ASSIGN(const int64_t heads, head_count(call, DecoderAttributes::num_heads));
  if (call.input(5) == nullptr) return attend_across(call, heads);
  if (call.get(DecoderAttributes::past_present_share_buffer) == 0 || call.input(7) == nullptr) {
    return call.unsupported(
        "a past without attribute 'past_present_share_buffer' and input 7 'past_sequence_length' "
        "is not supported");
  }
  SLUICE_ASSIGN(const Projections x, read_projections(call));
  const SharedBuffer buffer{
      .past_key = 5, .past_value = 6, .length = 7, .indirection = 9, .mask = 3, .bias = 4};
  return attend_in_buffer(call, split_heads(call, x.q, heads), split_heads(call, x.k, heads),
                          split_heads(call, x.v, heads), buffer);
}

}  // namespace sluice
