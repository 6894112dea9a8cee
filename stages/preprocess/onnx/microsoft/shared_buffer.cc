#include "stages/preprocess/onnx/microsoft/shared_buffer.h"

#include <limits>

#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/heads.h"

namespace sluice {
namespace {

// DecoderMaskedMultiHeadAttention has all of these but unidirectional: its one query sees all keys.
using SharedBufferAttributes = microsoft_attributes::MultiHeadAttention;

struct Places {
  Value* batch;
  Value* sequence;
  Value* capacity;
  Value* start;   // [batch]: the position of the first new row
  Value* column;  // the same as [batch, 1]
};

Result<Places> read_places(ExpandCall& call, Value* q, const SharedBuffer& buffer) {
  if (call.input(buffer.past_key) == nullptr || call.input(buffer.past_value) == nullptr) {
    return call.bad(
        "input {} 'past_sequence_length' needs inputs {} 'past_key' and {} 'past_value'",
        buffer.length, buffer.past_key, buffer.past_value);
  }
  Places places{call.dim(q, 0), call.dim(q, 2), call.dim(call.input(buffer.past_key), 2), nullptr,
                nullptr};
  Value* length = call.reshape(call.cast(call.input(buffer.length), DType::kI64), {1});
  places.start = call.add(Op::kExpand, {length, places.batch});
  places.column = call.unsqueeze(places.start, {1});
  return places;
}

// Returns each beam's keys or values: its past rows are in the beams of its batch that the
// indirection names, its new ones in its own.
Value* rows_of_beams(ExpandCall& call, Value* filled, Value* indirection, const Places& places) {
  Value* own = call.unsqueeze(indices(call, places.batch), {1});
  Value* beams = call.dim(indirection, 1);
  Value* first = call.add(Op::kSub, {own, call.add(Op::kMod, {own, beams})});
  Value* beam =
      call.reshape_to(call.cast(indirection, DType::kI64), {places.batch, call.ints({-1})});
  Value* is_past = call.add(Op::kLess, {indices(call, places.capacity), places.column});
  Value* rows = call.add(Op::kWhere, {is_past, call.add(Op::kAdd, {first, beam}), own});
  Value* index =
      call.add(Op::kExpand, {call.unsqueeze(rows, {1, 3}), call.add(Op::kShape, {filled})});
  return call.add(Op::kGatherElements, {filled, index}, {{"axis", int64_t{0}}});
}

// Returns the keys that a query sees: the past's and the new ones, up to its own where the
// attention is causal.
Value* seen_in_buffer(ExpandCall& call, const Places& places) {
  Value* last = call.add(Op::kSub, {places.sequence, call.ints({1})});
  if (call.get(SharedBufferAttributes::unidirectional) != 0)
    last = call.unsqueeze(indices(call, places.sequence), {1});
  last = call.add(Op::kAdd, {call.reshape(places.start, {-1, 1, 1, 1}), last});
  return call.add(Op::kLessOrEqual, {indices(call, places.capacity), last});
}

Result<Value*> added_to_scores(ExpandCall& call, Value* q, const SharedBuffer& buffer,
                               const Places& places) {
  if (call.input(buffer.mask) != nullptr) {
    SLUICE_ASSIGN(const int64_t rank, call.rank(buffer.mask));
    if (rank == 4)
      return call.unsupported(
          "a mask of rank 4 beside a buffer that past and present share is not supported");
  }
  SLUICE_ASSIGN(Value * mask,
                key_mask(call, buffer.mask, {places.batch, places.sequence, places.capacity}, q));
  Value* sum = blocked_where_not(call, seen_in_buffer(call, places),
                                 -std::numeric_limits<float>::infinity(), q);
  if (mask != nullptr) sum = call.add(Op::kAdd, {sum, fit_to_keys(call, mask, places.capacity)});
  Value* bias = call.input(buffer.bias);
  return bias == nullptr ? sum
                         : call.add(Op::kAdd, {sum, fit_to_keys(call, bias, places.capacity)});
}

}  // namespace

Value* fill_buffer(ExpandCall& call, Value* buffer, Value* rows, Value* start) {
  return call.add(Op::kTensorScatter, {buffer, rows, start}, {{"axis", int64_t{2}}});
}

Value* fit_to_keys(ExpandCall& call, Value* added, Value* keys) {
  Value* missing = call.add(Op::kSub, {keys, call.dim(added, -1)});
  return call.add(Op::kPad,
                  {added, call.concat({call.ints({0}), missing}, 0), nullptr, call.ints({-1})});
}

Result<void> attend_in_buffer(ExpandCall& call, Value* q, Value* k, Value* v,
                              const SharedBuffer& buffer) {
  SLUICE_ASSIGN(const Places places, read_places(call, q, buffer));
  Value* keys = fill_buffer(call, call.input(buffer.past_key), k, places.start);
  Value* values = fill_buffer(call, call.input(buffer.past_value), v, places.start);
  if (call.wants(1)) call.results[1] = keys;
  if (call.wants(2)) call.results[2] = values;
  if (Value* indirection = call.input(buffer.indirection)) {
    keys = rows_of_beams(call, keys, indirection, places);
    values = rows_of_beams(call, values, indirection, places);
  }
  SLUICE_ASSIGN(Value * added, added_to_scores(call, q, buffer, places));
  Node& node = call.add_node(Op::kAttention, {q, keys, values, added}, 1);
  if (const float scale = call.get(SharedBufferAttributes::scale); scale != 0)
    node.set(attributes::Attention::scale, scale);
  call.results[0] = join_heads(call, &node.output());
  return {};
}

}  // namespace sluice
