// ImageScaler computes scale * x, plus a bias for each channel of [N, C, H, W].
#include "stages/preprocess/onnx/experimental/attributes.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

using ImageScalerAttributes = experimental_attributes::ImageScaler;

Result<void> expand_image_scaler(ExpandCall& call) {
  Value* x = call.input(0);
  SLUICE_ASSIGN(const int64_t rank, call.rank(0));
  if (rank != 4) return call.bad("input 0 'input' has rank {}, expected 4", rank);
  Value* scaled = call.add(Op::kMul, {x, call.number(call.get(ImageScalerAttributes::scale), x)});
  call.results[0] = scaled;
  const std::vector<float> bias = call.get(ImageScalerAttributes::bias);
  if (bias.empty()) return {};
  const Dim& channels = x->type().dims[1];
  const auto count = static_cast<int64_t>(bias.size());
  if (channels.is_fixed() && channels.value != count) {
    return call.bad("attribute 'bias' has {} elements, expected one for each of {} channels", count,
                    channels.value);
  }
  // One element would broadcast to all channels of an open dim: the reshape fixes their number.
  Value* column = call.reshape_to(call.floats(bias), {call.dim(x, 1), call.ints({1, 1})});
  call.results[0] = call.add(Op::kAdd, {scaled, call.add(Op::kCastLike, {column, x})});
  return {};
}

}  // namespace sluice
