// Keys and values in buffers that past and present share: as long as the longest sequence, [batch,
// heads, capacity, size]. The first rows are valid; the new ones are written after them, and
// present is the whole buffer.
#pragma once

#include <cstdint>

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Returns the buffer with rows [batch, heads, sequence, size] written from start[b] on in row b of
// the batch.
Value* fill_buffer(ExpandCall& call, Value* buffer, Value* rows, Value* start);

// Extends what is added to scores, [.., keys] of as many keys as exist, to all keys of the buffer:
// those after are 0, and blocked by other masks.
Value* fit_to_keys(ExpandCall& call, Value* added, Value* keys);

// The indices of inputs.
struct SharedBuffer {
  size_t past_key;
  size_t past_value;
  size_t length;  // of the past, one element
  // [batch / beams, beams, capacity]: the beam that contains a row of a beam's past.
  size_t indirection;
  size_t mask;
  size_t bias;
};

// Computes attention of q over the past and k, v, [batch, heads, sequence, size] each. Fills
// call.results: output, present key, present value.
Result<void> attend_in_buffer(ExpandCall& call, Value* q, Value* k, Value* v,
                              const SharedBuffer& buffer);

}  // namespace sluice
