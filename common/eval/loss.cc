// Losses of classifiers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// The common last part of both losses: picks the log-probabilities [N, C, rest] by the labels [N,
// rest], weights them and reduces them into output 0.
template <typename T>
Result<void> pick_and_reduce(EvalCall& call, const T* log_probabilities) {
  const Input& x = call.input(0);
  const Input& labels = call.input(1);
  const Input& weights = call.input(2);
  if (x.rank() < 2) return call.bad_shape("the scores have rank {}, expected at least 2", x.rank());
  const AxisSplit split(x.dims, 1);
  const std::string reduction = call.node.get(attributes::Loss::reduction);
  const bool ignores = call.node.has(attributes::Loss::ignore_index);
  const int64_t ignored = call.node.get(attributes::Loss::ignore_index);
  const std::vector<int64_t> classes = call.ints(1);
  if (labels.count != split.outer * split.inner ||
      (weights.present() && weights.count != split.count))
    return call.bad_shape("labels {} or weights {} do not fit the scores {}",
                          dims_text(labels.dims), dims_text(weights.dims), dims_text(x.dims));
  std::vector<T> losses(classes.size(), T(0));
  double sum = 0, weight_sum = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    const int64_t label = classes[i];
    if (ignores && label == ignored) continue;
    if (label < 0 || label >= split.count)
      return call.bad_value("label {} lies outside {} classes", label, split.count);
    const auto at = static_cast<int64_t>(i);
    const T weight = weights.present() ? weights.as<T>()[label] : T(1);
    losses[i] = -log_probabilities[(at / split.inner * split.count + label) * split.inner +
                                   at % split.inner] *
                weight;
    sum += static_cast<double>(losses[i]);
    weight_sum += static_cast<double>(weight);
  }
  if (reduction == "none") {
    SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(labels.dims)));
    std::ranges::copy(losses, y.as<T>());
    return {};
  }
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, {}));
  y.as<T>()[0] = static_cast<T>(reduction == "sum" ? sum : sum / weight_sum);
  return {};
}

}  // namespace

Result<void> eval_negative_log_likelihood_loss(EvalCall& call) {
  return visit_float(call, call.input(0).dtype, [&]<typename T>(Tag<T>) {
    return pick_and_reduce<T>(call, call.input(0).as<T>());
  });
}

Result<void> eval_softmax_cross_entropy_loss(EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() < 2) return call.bad_shape("the scores have rank {}, expected at least 2", x.rank());
  const AxisSplit split(x.dims, 1);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::vector<T> logs(static_cast<size_t>(x.count));
    for (int64_t line = 0; line < split.outer * split.inner; ++line) {
      const int64_t start = line / split.inner * split.count * split.inner + line % split.inner;
      const T* from = x.as<T>() + start;
      T top = -std::numeric_limits<T>::infinity();
      for (int64_t c = 0; c < split.count; ++c) top = std::max(top, from[c * split.inner]);
      double sum = 0;
      for (int64_t c = 0; c < split.count; ++c)
        sum += static_cast<double>(math::exp(from[c * split.inner] - top));
      const T log_sum = static_cast<T>(math::log(sum));
      for (int64_t c = 0; c < split.count; ++c)
        logs[static_cast<size_t>(start + c * split.inner)] = from[c * split.inner] - top - log_sum;
    }
    SLUICE_TRY(pick_and_reduce<T>(call, logs.data()));
    if (!call.wants(1)) return {};
    SLUICE_ASSIGN(const Output y, call.output_like(1, 0, to_vector(x.dims)));
    std::ranges::copy(logs, y.as<T>());
    return {};
  });
}

}  // namespace sluice::eval
