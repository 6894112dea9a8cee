// Interleave: phases of a convolution, joined along spatial axes.
#include <algorithm>
#include <numeric>

#include "common/ops/attributes.h"
#include "common/tools/show_onnx/decompositions.h"
#include "common/tools/show_onnx/function_builder.h"

namespace sluice {
namespace {

using Ints = FunctionBuilder::Ints;

// Joins the phases as channels, in their order; absent ones are zeros.
std::string joined_phases(const Node& node, FunctionBuilder& function) {
  const std::string first = function.add_input();
  if (node.input_count() == 1) return first;
  std::string zeros;
  std::vector<std::string> phases = {first};
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr) {
      phases.push_back(function.add_input());
      continue;
    }
    if (zeros.empty()) {
      const std::string dims = function.add("Shape", {first});
      const std::string floats = function.add("ConstantOfShape", {dims});
      zeros = function.add("CastLike", {floats, first});
    }
    phases.push_back(zeros);
  }
  std::string joined = function.add("Concat", phases);
  function.set("axis", int64_t{1});
  return joined;
}

}  // namespace

// before: X [N, group * phases * C, d…], a phase for each place within the strides s…
//   A = Reshape(X) [N, group, s…, C, d…]    B = Transpose(A) [N, group, C, d1, s1, d2, s2, …]
//   Y = Reshape(B) [N, group * C, d1 * s1, …], less what the pads cut off
onnx::FunctionProto interleave_function(const Node& node) {
  FunctionBuilder function("Interleave");
  const size_t spatial = node.input(0)->type().dims.size() - 2;
  const Ints strides = node.get(attributes::Strided::strides, spatial);
  const Ints pads = node.get(attributes::Strided::pads, 2 * spatial);
  const int64_t group = node.get(attributes::Interleave::group);
  const int64_t phases =
      std::accumulate(strides.begin(), strides.end(), int64_t{1}, std::multiplies<>());
  const int64_t in = node.input(0)->type().dims[1].value;
  const int64_t channels = node.input_count() > 1 ? in : in / phases / group;
  const std::string x = joined_phases(node, function);

  const std::string sizes = function.add("Shape", {x});
  function.set("start", int64_t{2});
  Ints apart = {0, group};
  apart.insert(apart.end(), strides.begin(), strides.end());
  apart.push_back(channels);
  const std::string apart_dims = function.add("Concat", {function.ints(apart), sizes});
  function.set("axis", int64_t{0});
  const std::string a = function.add("Reshape", {x, apart_dims});

  const auto axes = static_cast<int64_t>(spatial);
  Ints order = {0, 1, 2 + axes};
  for (int64_t i = 0; i < axes; ++i) order.insert(order.end(), {3 + axes + i, 2 + i});
  const std::string b = function.transposed(a, order);

  const std::string whole = function.add("Mul", {sizes, function.ints(strides)});
  const std::string whole_dims =
      function.add("Concat", {function.ints({0, group * channels}), whole});
  function.set("axis", int64_t{0});
  const std::string y = function.add("Reshape", {b, whole_dims});
  if (std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; }))
    return std::move(function).finish(y);

  Ints cut(2 * spatial + 4);
  for (size_t i = 0; i < spatial; ++i) {
    cut[2 + i] = -pads[i];
    cut[4 + spatial + i] = -pads[spatial + i];
  }
  const std::string all_pads = function.ints(cut);
  return std::move(function).finish(function.add("Pad", {y, all_pads}));
}

}  // namespace sluice
