// A convolution of each channel with its own weights that reads no future position, and the state
// that it passes from call to call.
#include <algorithm>
#include <vector>

#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

struct CausalConvSizes {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t length = 0;
  int64_t taps = 0;
};

Result<CausalConvSizes> read_causal_conv_sizes(const EvalCall& call) {
  const Input& x = call.input(0);
  const Input& w = call.input(1);
  const Input& bias = call.input(2);
  const Input& past = call.input(3);
  for (size_t i = 0; i < call.input_count(); ++i) {
    if (call.has(i) && call.input(i).dtype != DType::kF32)
      return call.unsupported(call.input(i).dtype);
  }
  const bool has_ranks = x.rank() == 3 && w.rank() == 3;
  if (!has_ranks || w.dims[0] != x.dims[1] || w.dims[1] != 1 || w.dims[2] < 1)
    return call.bad_shape("weights {} do not fit the input {}", dims_text(w.dims),
                          dims_text(x.dims));
  const CausalConvSizes sizes{x.dims[0], x.dims[1], x.dims[2], w.dims[2]};
  if (bias.present() && (bias.rank() != 1 || bias.count != sizes.channels))
    return call.bad_shape("the bias {} does not fit {} channels", dims_text(bias.dims),
                          sizes.channels);
  const std::vector<int64_t> state = {sizes.batch, sizes.channels, sizes.taps - 1};
  if (past.present() && !std::ranges::equal(past.dims, state))
    return call.bad_shape("the past state is {}, expected {}", dims_text(past.dims),
                          dims_text(state));
  return sizes;
}

Result<bool> read_silu(const EvalCall& call) {
  const std::string name = call.node.get(attributes::CausalConvWithState::activation);
  if (name != "none" && name != "silu" && name != "swish")
    return call.bad_value("the activation '{}' is not known", name);
  return name != "none";
}

}  // namespace

// Computes y[i] = activation(bias + sum over taps of weight[tap] line[i + tap]), where the line is
// the past state followed by the input.
Result<void> eval_causal_conv_with_state(EvalCall& call) {
  SLUICE_ASSIGN(const CausalConvSizes sizes, read_causal_conv_sizes(call));
  SLUICE_ASSIGN(const bool silu, read_silu(call));
  const int64_t before = sizes.taps - 1;
  SLUICE_ASSIGN(const Output y,
                call.output_like(0, 0, {sizes.batch, sizes.channels, sizes.length}));
  // The state is made even when it is unused, so that one too large for memory is rejected here.
  SLUICE_ASSIGN(const Output present,
                call.output_like(1, 0, {sizes.batch, sizes.channels, before}));
  if (y.count == 0 && present.count == 0) return {};
  const Input& bias = call.input(2);
  const Input& past = call.input(3);
  // Without a past state the line starts with zeros.
  std::vector<float> line(static_cast<size_t>(before + sizes.length));
  for (int64_t row = 0; row < sizes.batch * sizes.channels; ++row) {
    const int64_t channel = row % sizes.channels;
    if (past.present()) std::copy_n(past.as<float>() + row * before, before, line.data());
    std::copy_n(call.input(0).as<float>() + row * sizes.length, sizes.length, line.data() + before);
    const float* weight = call.input(1).as<float>() + channel * sizes.taps;
    for (int64_t i = 0; i < sizes.length; ++i) {
      double sum = bias.present() ? static_cast<double>(bias.as<float>()[channel]) : 0;
      for (int64_t tap = 0; tap < sizes.taps; ++tap)
        sum += static_cast<double>(weight[tap]) *
               static_cast<double>(line[static_cast<size_t>(i + tap)]);
      y.as<float>()[row * sizes.length + i] =
          static_cast<float>(silu ? sum / (1 + math::exp(-sum)) : sum);
    }
    std::copy_n(line.data() + sizes.length, before, present.as<float>() + row * before);
  }
  return {};
}

}  // namespace sluice::eval
