// RotaryEmbedding is ONNX's, with the positions before the tables and one offset allowed for all of
// them.
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/heads.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {
namespace {

using RotaryEmbeddingAttributes = microsoft_attributes::RotaryEmbedding;

// Returns positions [batch, sequence]; one number is the position of each row's first element.
Result<Value*> rotary_positions(ExpandCall& call, bool flat) {
  SLUICE_ASSIGN(const int64_t rank, call.rank(1));
  if (rank == 2) return call.input(1);
  if (rank != 1) return call.bad("input 1 'position_ids' has rank {}, expected 1 or 2", rank);
  Value* sequence = call.dim(call.input(0), flat ? 1 : 2);
  Value* line = call.add(Op::kAdd, {indices(call, sequence), call.input(1)});
  return call.add(Op::kExpand, {line, call.concat({call.dim(call.input(0), 0), sequence}, 0)});
}

// Splits heads that the attribute does not count, by the tables' width.
Value* split_by_tables(ExpandCall& call) {
  Value* size = call.add(Op::kMul, {call.dim(call.input(2), 1), call.ints({2})});
  return call.transpose(call.reshape_to(call.input(0), {call.ints({0, 0, -1}), size}),
                        {0, 2, 1, 3});
}

}  // namespace

// The inputs are input, position_ids, cos_cache, sin_cache.
Result<void> expand_rotary_embedding(ExpandCall& call) {
  const int64_t heads = call.get(RotaryEmbeddingAttributes::num_heads);
  const int64_t turned = call.get(RotaryEmbeddingAttributes::rotary_embedding_dim);
  if (heads < 0 || turned < 0)
    return call.bad("attribute '{}' is negative", heads < 0 ? "num_heads" : "rotary_embedding_dim");
  if (turned > 0 && heads == 0)
    return call.bad("attribute 'rotary_embedding_dim' needs attribute 'num_heads'");
  if (call.get(RotaryEmbeddingAttributes::is_packed_batching) != 0)
    return call.unsupported("attribute 'is_packed_batching' is not supported");
  if (call.get(RotaryEmbeddingAttributes::scale) != 1)
    return call.unsupported("attribute 'scale' is {}, supported is 1",
                            call.get(RotaryEmbeddingAttributes::scale));
  SLUICE_ASSIGN(const int64_t rank, call.rank(0));
  if (rank != 3 && rank != 4) return call.bad("input 0 'input' has rank {}, expected 3 or 4", rank);
  SLUICE_ASSIGN(Value * ids, rotary_positions(call, rank == 3));
  const bool splits = rank == 3 && heads == 0;
  Node& node = call.add_node(
      Op::kRotaryEmbedding,
      {splits ? split_by_tables(call) : call.input(0), call.input(2), call.input(3), ids}, 1);
  node.set(attributes::RotaryEmbedding::interleaved,
           call.get(RotaryEmbeddingAttributes::interleaved));
  if (turned > 0) node.set(attributes::RotaryEmbedding::rotary_embedding_dim, turned);
  if (rank == 3 && heads > 0) node.set(attributes::RotaryEmbedding::num_heads, heads);
  call.results[0] = splits ? join_heads(call, &node.output()) : &node.output();
  return {};
}

}  // namespace sluice
