// Writes padding as numbers.
//
//   before:  %y = Conv(%x, %w) {auto_pad = "SAME_UPPER", strides = [2, 2]}
//            x: f32[1, 3, 224, 224], w: f32[8, 3, 3, 3]
//   after:   %y = Conv(%x, %w) {pads = [0, 0, 1, 1], strides = [2, 2]}
//
// SAME asks for ceil(size / stride) results: the padding is max(0, (results - 1) * stride + kernel
// - size), the odd one after the data for SAME_UPPER and before it for SAME_LOWER. Where the size
// is symbolic that needs stride 1 or a size proved to be a multiple of the stride; otherwise the
// node keeps its auto_pad. ConvTranspose's `output_shape` becomes padding by its own formula (ONNX,
// ConvTranspose). Must run after infer-types.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "common/base/work.h"
#include "common/ops/attributes.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

bool has_auto_pad(Op op) {
  switch (op) {
    case Op::kAveragePool:
    case Op::kConv:
    case Op::kConvInteger:
    case Op::kConvTranspose:
    case Op::kLpPool:
    case Op::kMaxPool:
    case Op::kQLinearConv:
      return true;
    default:
      return false;
  }
}

struct Window {
  std::vector<Dim> sizes;      // of the input
  std::vector<int64_t> spans;  // of the dilated kernel
  std::vector<int64_t> strides;
};

std::optional<std::vector<int64_t>> kernel_of(const Node& node, size_t rank) {
  std::vector<int64_t> kernel = node.get(attributes::Conv::kernel_shape);
  if (!kernel.empty()) return kernel;
  const Value* weight = node.input(node.op() == Op::kQLinearConv ? 3 : 1);
  if (weight == nullptr || !weight->type().is_fixed() || weight->type().dims.size() != rank + 2)
    return std::nullopt;
  for (size_t i = 0; i < rank; ++i) kernel.push_back(weight->type().dims[i + 2].value);
  return kernel;
}

std::optional<Window> window_of(const Node& node) {
  const Type& type = node.input(0)->type();
  if (!type.is_tensor() || !type.ranked || type.dims.size() < 3) return std::nullopt;
  const size_t rank = type.dims.size() - 2;
  const auto kernel = kernel_of(node, rank);
  const std::vector<int64_t> dilations = node.get(attributes::Dilated::dilations, rank);
  Window window{
      {type.dims.begin() + 2, type.dims.end()}, {}, node.get(attributes::Strided::strides, rank)};
  if (!kernel || kernel->size() != rank || dilations.size() != rank ||
      window.strides.size() != rank)
    return std::nullopt;
  for (size_t i = 0; i < rank; ++i) window.spans.push_back(((*kernel)[i] - 1) * dilations[i] + 1);
  return window;
}

// Returns the padding of SAME along one axis.
std::optional<int64_t> same_padding(const Module& module, const Dim& size, int64_t span,
                                    int64_t stride) {
  if (stride == 1) return std::max<int64_t>(span - 1, 0);
  if (size.is_fixed()) {
    const int64_t results = (size.value + stride - 1) / stride;
    return std::max<int64_t>((results - 1) * stride + span - size.value, 0);
  }
  const bool divides = size.is_expression() && module.expressions.is_multiple(
                                                   static_cast<ExpressionId>(size.value), stride);
  return divides ? std::optional(std::max<int64_t>(span - stride, 0)) : std::nullopt;
}

std::optional<int64_t> transposed_padding(const Node& node, const Window& window, size_t axis) {
  const std::vector<int64_t> wanted = node.get(attributes::ConvTranspose::output_shape);
  const std::vector<int64_t> extra =
      node.get(attributes::ConvTranspose::output_padding, window.sizes.size());
  if (extra.size() != window.sizes.size()) return std::nullopt;
  // This padding makes size * stride results.
  int64_t total = extra[axis] + window.spans[axis] - window.strides[axis];
  if (!wanted.empty()) {
    // output_shape may also include batch and channels.
    const size_t first = wanted.size() - std::min(wanted.size(), window.sizes.size());
    if (!window.sizes[axis].is_fixed() || first + axis >= wanted.size()) return std::nullopt;
    total += window.strides[axis] * window.sizes[axis].value - wanted[first + axis];
  }
  return total < 0 ? std::nullopt : std::optional(total);
}

bool set_same_padding(Node& node, const std::string& mode) {
  const auto window = window_of(node);
  if (!window) return false;
  const size_t rank = window->sizes.size();
  const bool transposed = node.op() == Op::kConvTranspose;
  std::vector<int64_t> pads(2 * rank);
  for (size_t i = 0; i < rank; ++i) {
    const auto total = transposed ? transposed_padding(node, *window, i)
                                  : same_padding(node.graph().module(), window->sizes[i],
                                                 window->spans[i], window->strides[i]);
    if (!total) return false;
    const int64_t small = *total / 2;
    pads[i] = mode == "SAME_UPPER" ? small : *total - small;
    pads[rank + i] = *total - pads[i];
  }
  node.set(attributes::Strided::pads, std::move(pads));
  node.remove(attributes::ConvTranspose::output_shape);
  node.remove(attributes::Window::auto_pad);
  node.remove(attributes::Pool::ceil_mode);  // SAME rounds up by itself
  return true;
}

bool normalize_node_padding(Node& node) {
  const bool shaped =
      node.op() == Op::kConvTranspose && !node.get(attributes::ConvTranspose::output_shape).empty();
  if (!has_auto_pad(node.op()) || node.input(0) == nullptr) return false;
  if (!node.has(attributes::Window::auto_pad) && !shaped) return false;
  const std::string mode = node.get(attributes::Window::auto_pad);
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER" || shaped) return set_same_padding(node, mode);
  if (mode == "VALID") node.remove(attributes::Strided::pads);
  node.remove(attributes::Window::auto_pad);
  return true;
}

bool normalize_paddings(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    changed = normalize_node_padding(node) || changed;
    for (const GraphId body : node.bodies())
      changed = normalize_paddings(graph.module().graph(body)) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> normalize_padding(Graph& graph, const Options&) { return normalize_paddings(graph); }

}  // namespace sluice
