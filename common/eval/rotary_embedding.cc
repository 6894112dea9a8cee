// Rotary position embeddings.
#include <algorithm>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/ops/attributes.h"

namespace sluice::eval {

Result<void> eval_rotary_embedding(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& cosines = call.input(1);
  const Input& sines = call.input(2);
  const bool interleaved = call.node.get(attributes::RotaryEmbedding::interleaved) != 0;
  const bool flat = x.rank() == 3;
  int64_t heads = flat ? call.node.get(attributes::RotaryEmbedding::num_heads) : 0;
  if (x.rank() == 4) heads = x.dims[1];
  if ((x.rank() != 3 && x.rank() != 4) || heads < 1 || x.dims.back() % (flat ? heads : 1) != 0)
    return call.bad_shape("the input {} does not fit {} heads", dims_text(x.dims), heads);
  const int64_t size = flat ? x.dims[2] / heads : x.dims[3];
  const int64_t length = flat ? x.dims[1] : x.dims[2];
  const int64_t named = call.node.get(attributes::RotaryEmbedding::rotary_embedding_dim);
  const int64_t turned = named > 0 ? named : size;
  const int64_t half = turned / 2;
  const auto positions = call.ints(3);
  const int64_t rows = call.has(3) ? static_cast<int64_t>(positions.size()) : x.dims[0] * length;
  const bool fits = turned <= size && cosines.count == sines.count && cosines.dtype == x.dtype &&
                    sines.dtype == x.dtype && rows == x.dims[0] * length && cosines.rank() > 0 &&
                    cosines.dims.back() == half;
  if (!fits || (!call.has(3) && cosines.count != rows * half))
    return call.bad_shape("the tables {} do not fit the input {}", dims_text(cosines.dims),
                          dims_text(x.dims));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t at = 0; size > 0 && at < x.count / size; ++at) {
      const int64_t i = flat ? at / heads % length : at % length;
      const int64_t b = at / (heads * length);
      const int64_t row =
          call.has(3) ? positions[static_cast<size_t>(b * length + i)] : b * length + i;
      if (row < 0 || (row + 1) * half > cosines.count)
        return call.bad_value("position {} lies outside the tables", row);
      const T* from = x.as<T>() + at * size;
      T* to = y.as<T>() + at * size;
      std::copy_n(from, size, to);
      for (int64_t k = 0; k < half; ++k) {
        const int64_t first = interleaved ? 2 * k : k;
        const int64_t second = interleaved ? 2 * k + 1 : half + k;
        const T c = cosines.as<T>()[row * half + k];
        const T s = sines.as<T>()[row * half + k];
        to[first] = c * from[first] - s * from[second];
        to[second] = s * from[first] + c * from[second];
      }
    }
    return {};
  });
}

}  // namespace sluice::eval
