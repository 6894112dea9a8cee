// Queries, keys and values of attention, with heads as a separate axis.
#pragma once

#include <algorithm>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/call.h"

namespace sluice::eval {

// Q, K or V as [batch, heads, length, size]. The tensor has rank 4, or rank 3 with the heads inside
// the last axis.
template <typename T>
struct Heads {
  std::vector<T> values;
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t length = 0;
  int64_t size = 0;

  T* row(int64_t b, int64_t h, int64_t i) {
    return values.data() + ((b * heads + h) * length + i) * size;
  }
  const T* row(int64_t b, int64_t h, int64_t i) const {
    return values.data() + ((b * heads + h) * length + i) * size;
  }
};

template <typename T>
Result<Heads<T>> load_heads(const EvalCall& call, size_t input, int64_t heads) {
  const Input& x = call.input(input);
  Heads<T> result;
  if (x.rank() == 4) {
    result = {{x.as<T>(), x.as<T>() + x.count}, x.dims[0], x.dims[1], x.dims[2], x.dims[3]};
    return result;
  }
  if (x.rank() != 3 || heads < 1 || x.dims[2] % heads != 0)
    return call.bad_shape("input {} is {}, which does not fit {} heads", input, dims_text(x.dims),
                          heads);
  result = {std::vector<T>(static_cast<size_t>(x.count)), x.dims[0], heads, x.dims[1],
            x.dims[2] / heads};
  for (int64_t b = 0; b < result.batch; ++b) {
    for (int64_t i = 0; i < result.length; ++i) {
      for (int64_t h = 0; h < heads; ++h)
        std::copy_n(x.as<T>() + (b * result.length + i) * x.dims[2] + h * result.size, result.size,
                    result.row(b, h, i));
    }
  }
  return result;
}

// Returns the past [B, H, P, size] followed by the new rows.
template <typename T>
Result<Heads<T>> with_past(const EvalCall& call, const Heads<T>& now, size_t past_input) {
  if (!call.has(past_input)) return now;
  SLUICE_ASSIGN(const Heads<T> past, load_heads<T>(call, past_input, now.heads));
  if (past.batch != now.batch || past.heads != now.heads || past.size != now.size)
    return call.bad_shape("the past {} does not fit", dims_text(call.input(past_input).dims));
  Heads<T> all{{}, now.batch, now.heads, past.length + now.length, now.size};
  for (int64_t b = 0; b < now.batch; ++b) {
    for (int64_t h = 0; h < now.heads; ++h) {
      all.values.insert(all.values.end(), past.row(b, h, 0),
                        past.row(b, h, 0) + past.length * now.size);
      all.values.insert(all.values.end(), now.row(b, h, 0),
                        now.row(b, h, 0) + now.length * now.size);
    }
  }
  return all;
}

template <typename T>
Result<void> store_heads(EvalCall& call, size_t output, const Heads<T>& heads) {
  if (!call.wants(output)) return {};
  SLUICE_ASSIGN(const Output y,
                call.output_like(output, 0, {heads.batch, heads.heads, heads.length, heads.size}));
  std::ranges::copy(heads.values, y.as<T>());
  return {};
}

}  // namespace sluice::eval
