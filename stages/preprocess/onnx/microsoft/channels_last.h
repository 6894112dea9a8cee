// Operators that may have the channels in the last axis.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"

namespace sluice {

// The orders of axes from [N, ..., C] to [N, C, ...] and back.
inline std::vector<int64_t> channels_first_order(int64_t rank) {
  std::vector<int64_t> order{0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i) order.push_back(i);
  return order;
}

inline std::vector<int64_t> channels_last_order(int64_t rank) {
  std::vector<int64_t> order{0};
  for (int64_t i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

// Adds a pooling, whose node `add_pool` makes for a value with channels first. The rank is needed
// only where channels come last.
template <typename AddPool>
Result<Value*> pool_of(ExpandCall& call, Value* x, AddPool add_pool) {
  if (call.get(microsoft_attributes::QLinearGlobalAveragePool::channels_last) == 0)
    return add_pool(x);
  SLUICE_ASSIGN(const int64_t rank, call.rank(0));
  if (rank < 3) return call.bad("input 0 has rank {}, expected at least 3", rank);
  return call.transpose(add_pool(call.transpose(x, channels_first_order(rank))),
                        channels_last_order(rank));
}

}  // namespace sluice
