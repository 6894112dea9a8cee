// Keys and values in buffers that past and present share: as long as the longest sequence, [batch,
// heads, room, size]. The first rows are valid; the new ones are written behind them, and present
// is the whole buffer.
#pragma once

#include <cstdint>

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Buffer with rows [batch, heads, sequence, size] written from start[b] on in row b of the batch.
Value* fill_buffer(ExpandCall& call, Value* buffer, Value* rows, Value* start);

// What is added to scores, [.., keys] of as many keys as there are, for all keys of the buffer:
// those behind are 0, and blocked by others.
Value* fit_to_keys(ExpandCall& call, Value* added, Value* keys);

// Inputs by index.
struct SharedBuffer {
  size_t past_key;
  size_t past_value;
  size_t length;       // of the past, one element
  size_t indirection;  // [batch / beams, beams, room]: the beam that a row of a beam's past lies in
  size_t mask;
  size_t bias;
};

// Attention of q over the past and k, v, [batch, heads, sequence, size] each. Fills call.results:
// output, present key, present value.
Result<void> attend_in_buffer(ExpandCall& call, Value* q, Value* k, Value* v,
                              const SharedBuffer& buffer);

}  // namespace sluice
