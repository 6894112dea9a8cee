// Makes small windows, one after the other, of a large one: the work for an element grows with the
// logarithm of the window's size instead of its area.
//
//   before:  %y = MaxPool(%x) {kernel_shape = [13, 13], pads = [6, 6, 6, 6]}
//   after:   %1 = MaxPool(%x) {kernel_shape = [5, 5], pads = [2, 2, 2, 2]}
//            %2 = MaxPool(%1) {dilations = [2, 2], kernel_shape = [3, 3], pads = [2, 2, 2, 2]}
//            %y = MaxPool(%2) {dilations = [2, 2], kernel_shape = [3, 3], pads = [2, 2, 2, 2]}
//
// Legal because the largest of a window is that of the largest of windows that cover it: of three
// that reach r elements to both sides of their middles, and are at most r apart. At the edges of an
// image, where the middle of an outer one lies in the padding, the one in the middle reaches over
// what that has of the image. Windows of 5, 9 and 13, as networks have them side by side, become a
// chain of three nodes once eliminate-common-subexpressions has merged equal ones. Windows that are
// not padded by half their size at both ends are left as they are.
#include <algorithm>
#include <functional>
#include <numeric>

#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMinKernel = 9;   // smaller ones are computed by columns and rows
constexpr int64_t kFirstReach = 2;  // of the first step
constexpr int64_t kMinGain = 2;     // so many times fewer elements are read

// The windows of one of the nodes, by spatial dim.
struct Step {
  Ints kernel;
  Ints dilations;
};

struct Windows {
  std::vector<Step> steps;
  Ints strides;
};

int64_t product(const Ints& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// Returns the first step, or the one after windows that reach `covered`, and adds to that what it
// covers.
Step next_step(const Ints& reaches, Ints& covered, bool is_first) {
  Step step;
  for (size_t i = 0; i < reaches.size(); ++i) {
    const int64_t left = reaches[i] - covered[i];
    const int64_t gain = std::min(left, is_first ? kFirstReach : covered[i]);
    step.kernel.push_back(is_first ? 2 * gain + 1 : gain > 0 ? 3 : 1);
    step.dilations.push_back(is_first ? 1 : std::max<int64_t>(gain, 1));
    covered[i] += gain;
  }
  return step;
}

std::vector<Step> steps_of(const Ints& kernel) {
  Ints reaches, covered(kernel.size(), 0);
  for (const int64_t size : kernel) reaches.push_back(size / 2);
  std::vector<Step> steps;
  while (covered != reaches) steps.push_back(next_step(reaches, covered, steps.empty()));
  return steps;
}

bool is_centred(const Node& node, const Ints& kernel, bool is_strided) {
  const std::string auto_pad = node.get(attributes::Window::auto_pad);
  const bool is_odd = std::ranges::all_of(kernel, [](int64_t size) { return size % 2 == 1; });
  if (!is_odd || auto_pad == "VALID") return false;
  if (auto_pad != "NOTSET") return !is_strided;
  const Ints pads = node.get(attributes::Strided::pads, 2 * kernel.size());
  for (size_t i = 0; i < pads.size(); ++i)
    if (pads[i] != kernel[i % kernel.size()] / 2) return false;
  return true;
}

bool is_worth(const Ints& kernel, const Windows& windows) {
  int64_t taps = 0;
  for (const Step& step : windows.steps) taps += product(step.kernel);
  return product(kernel) / product(windows.strides) > kMinGain * taps;
}

std::optional<Windows> read_windows(const Node& node) {
  if (node.op() != Op::kMaxPool || !is_removable(node) ||
      node.placement.engine != EngineId::kNone || !node.input(0)->type().is_tensor() ||
      node.input(0)->type().has_unknown() || (node.output_count() > 1 && node.output(1).is_used()))
    return std::nullopt;
  const Ints kernel = node.get(attributes::Pool::kernel_shape);
  Windows windows{.strides = node.get(attributes::Strided::strides, kernel.size())};
  const bool is_strided = product(windows.strides) > 1;
  const bool is_rounded_up = is_strided && node.get(attributes::Pool::ceil_mode) != 0;
  if (std::ranges::max(kernel) < kMinKernel || is_rounded_up ||
      product(node.get(attributes::Dilated::dilations, kernel.size())) > 1 ||
      !is_centred(node, kernel, is_strided))
    return std::nullopt;
  windows.steps = steps_of(kernel);
  return is_worth(kernel, windows) ? std::optional(std::move(windows)) : std::nullopt;
}

Node& add_step(NodeMaker& make, Value& x, const Step& step, const Type& type) {
  Node& node = make.node(Op::kMaxPool, {&x}, type);
  Ints pads;
  for (size_t end = 0; end < 2; ++end)
    for (size_t i = 0; i < step.kernel.size(); ++i)
      pads.push_back(step.kernel[i] / 2 * step.dilations[i]);
  if (product(step.dilations) > 1) node.set(attributes::Dilated::dilations, step.dilations);
  node.set(attributes::Pool::kernel_shape, step.kernel);
  node.set(attributes::Strided::pads, pads);
  return node;
}

bool rewrite_max_pool(Editor& editor, Node& node) {
  const auto windows = read_windows(node);
  if (!windows) return false;
  const Type type = node.input(0)->type();
  NodeMaker make(editor, node);
  Value* value = node.input(0);
  for (size_t i = 0; i + 1 < windows->steps.size(); ++i)
    value = &add_step(make, *value, windows->steps[i], type).output();
  Node& last = add_step(make, *value, windows->steps.back(), node.output().type());
  if (product(windows->strides) > 1) last.set(attributes::Strided::strides, windows->strides);
  make.give(0, last.output());
  make.finish();
  return true;
}

}  // namespace

Result<bool> decompose_max_pool(Graph& root, const Options&) {
  return on_every_node(root, rewrite_max_pool);
}

}  // namespace sluice
