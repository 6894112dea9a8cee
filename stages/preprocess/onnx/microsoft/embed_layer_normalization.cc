// EmbedLayerNormalization computes LayerNormalization of word + position (+ segment) embeddings,
// and the number of elements of each mask row that are 1.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {
namespace {

// Returns the position embeddings; without ids the first S rows, which broadcast over the batch.
Value* position_embeddings(ExpandCall& call) {
  Value* table = call.input(3);
  if (call.input(8) != nullptr)
    return call.add(Op::kGather, {table, call.input(8)}, {{"axis", int64_t{0}}});
  return call.slice(table, call.ints({0}), call.dim(call.input(0), 1), 0);
}

Value* mask_index(ExpandCall& call) {
  Value* zero = call.cast(call.int_scalar(0), DType::kI32);
  if (call.input(7) == nullptr) return call.add(Op::kExpand, {zero, call.dim(call.input(0), 0)});
  Value* ones = call.add(Op::kEqual, {call.cast(call.input(7), DType::kI32),
                                      call.cast(call.int_scalar(1), DType::kI32)});
  return call.add(Op::kReduceSum, {call.cast(ones, DType::kI32), call.ints({1})},
                  {{"keepdims", int64_t{0}}});
}

}  // namespace

Result<void> expand_embed_layer_normalization(ExpandCall& call) {
  if ((call.input(1) == nullptr) != (call.input(4) == nullptr)) {
    return call.bad("inputs 'segment_ids' and 'segment_embedding' come together");
  }
  Value* words = call.add(Op::kGather, {call.input(2), call.input(0)}, {{"axis", int64_t{0}}});
  Value* sum = call.add(Op::kAdd, {words, position_embeddings(call)});
  if (call.input(1) != nullptr) {
    sum = call.add(Op::kAdd, {sum, call.add(Op::kGather, {call.input(4), call.input(1)},
                                            {{"axis", int64_t{0}}})});
  }
  call.results[0] =
      call.add(Op::kLayerNormalization, {sum, call.input(5), call.input(6)},
               {{"axis", int64_t{-1}},
                {"epsilon", call.get(microsoft_attributes::EmbedLayerNormalization::epsilon)}});
  if (call.wants(1)) call.results[1] = mask_index(call);
  if (call.wants(2)) call.results[2] = sum;
  return {};
}

}  // namespace sluice
