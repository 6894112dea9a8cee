// Splits DynamicQuantizeLinear of many elements into three nodes. The first one finds the least
// and the largest number of each part of x, in one sweep; the second one the scale and the zero
// point, which are those of the parts' ends; the third one quantizes. Threads share the first one
// and the third one.
//
//   before:  %y, %s, %z = DynamicQuantizeLinear(%x)                   x: f32[100000]
//   after:   %l, %h = Fused(%x) { %n = Where(Equal(%x, %x), %x, 0)
//                                 %r = Reshape(%n, [50, 2000])
//                                 %l = ReduceMin(%r, [1])
//                                 %h = ReduceMax(%r, [1]) }
//            %s, %z = Fused(%l, %h) { %e = Concat(Min(%l, 0), Max(%h, 0))
//                                     %q, %s, %z = DynamicQuantizeLinear(%e) }
//            %y = Fused(%x, %s, %z) { %t = Add(Round(Div(%x, %s)), %z)
//                                     %y = Cast(Min(Where(Less(0, %t), %t, 0), 255)) }
//
// Where sizes are open, the parts are those of an axis, as in split_reductions.cc. Legal because
// the ends of a range do not depend on the order of its elements: the results have the same bits.
// Fewer elements, and those of a single axis of open size, stay one kernel.
#include <algorithm>
#include <bit>
#include <cmath>

#include "common/ops/attributes.h"
#include "common/target/vector.h"
#include "stages/subgraph-optimize/passes/passes.h"
#include "stages/subgraph-optimize/passes/row_parts.h"
#include "stages/subgraph-optimize/split_nodes.h"

namespace sluice {
namespace {

// From here on either sweep takes longer than it costs to wake a thread for it
// (runtime/device/launch_sharing.h), so that a second thread saves more than two launches cost.
constexpr double kMinQuantizedElements = 1 << 16;

class QuantizeSplitter {
 public:
  QuantizeSplitter(Node& node, const Division& division, std::vector<Dim> dims)
      : node_(node), x_(*node.input(0)), division_(division), dims_(std::move(dims)) {}

  // Returns the three nodes that stand for the node, which nothing reads any more.
  std::vector<Node*> run() {
    Node& ends = add_ends();
    Node& scale = add_scale(ends);
    return {&ends, &scale, &add_quantized(scale)};
  }

 private:
  // The ends of each part's range. A NaN counts as 0, as does what fills up the last part.
  Node& add_ends() {
    FusedBuilder b(node_);
    Value& x = b.value(x_);
    Value& zero = number(b, 0);
    Value* numbers = &b.node(Op::kWhere, {&b.node(Op::kEqual, {&x, &x}), &x, &zero});
    const bool is_flat = dims_.size() == 1 && x_.type().dims.size() != 1;
    if (is_flat) numbers = &b.node(Op::kReshape, {numbers, &b.longs({-1})});
    if (division_.parts > 0) numbers = &add_divided(b, *numbers, dims_, division_, zero);
    Value& axes = b.longs(axes_of_parts());
    for (const Op op : {Op::kReduceMin, Op::kReduceMax})
      b.add_result(b.node(op, {numbers, &axes}), nullptr);
    Node& ends = b.finish(name(":ends"));
    ends.output(0).set_name(node_.output(0).name() + ":low");
    ends.output(1).set_name(node_.output(0).name() + ":high");
    return ends;
  }

  // The axes along a part.
  std::vector<int64_t> axes_of_parts() const {
    const bool is_divided = division_.parts > 0;
    const size_t rank = dims_.size() + (is_divided ? 1 : 0);
    std::vector<int64_t> axes;
    for (size_t axis = 0; axis < rank; ++axis)
      if (axis != division_.axis) axes.push_back(static_cast<int64_t>(axis));
    return axes;
  }

  Node& add_scale(Node& ends) {
    FusedBuilder b(node_);
    // The range includes 0, and the ends of an empty part are infinities.
    Value& zero = number(b, 0);
    Value& low = b.node(Op::kMin, {&b.input(ends.output(0)), &zero});
    Value& high = b.node(Op::kMax, {&b.input(ends.output(1)), &zero});
    Value& both = b.node(Op::kConcat, {&low, &high});
    both.producer()->set(attributes::Concat::axis, int64_t{0});
    Node& quantized = *b.node(Op::kDynamicQuantizeLinear, {&both}, 3).producer();
    b.add_result(quantized.output(1), &node_.output(1));
    b.add_result(quantized.output(2), &node_.output(2));
    return b.finish(name(":scale"));
  }

  Node& add_quantized(Node& scale) {
    FusedBuilder b(node_);
    Value& x = b.value(x_);
    Value& step = b.input(scale.output(0));
    Value& shift = cast(b, b.input(scale.output(1)), DType::kF32);
    Value& zero = number(b, 0);
    // Both are 0 where the largest number is too small to have a scale: then all become 0.
    Value& is_none = b.node(Op::kEqual, {&b.node(Op::kMax, {&step, &shift}), &zero});
    Value& divisor = b.node(Op::kWhere, {&is_none, &number(b, HUGE_VALF), &step});
    Value& steps = b.node(Op::kRound, {&b.node(Op::kDiv, {&x, &divisor})});
    Value& y = b.node(Op::kAdd, {&steps, &shift});
    Value& raised = b.node(Op::kWhere, {&b.node(Op::kLess, {&zero, &y}), &y, &zero});  // NaN to 0
    Value& inside = b.node(Op::kMin, {&raised, &number(b, 255)});
    b.add_result(cast(b, inside, DType::kU8), &node_.output(0));
    return b.finish(node_.name());
  }

  std::string name(const std::string& end) const {
    return node_.name().empty() ? "" : node_.name() + end;
  }

  static Value& number(FusedBuilder& b, float value) {
    return b.element(DType::kF32, std::bit_cast<uint32_t>(value));
  }

  static Value& cast(FusedBuilder& b, Value& x, DType to) {
    Value& y = b.node(Op::kCast, {&x});
    y.producer()->set(attributes::Cast::to, static_cast<int64_t>(to));
    return y;
  }

  Node& node_;
  const Value& x_;
  Division division_;
  std::vector<Dim> dims_;  // what is divided: those of x, or all elements as one axis
};

std::vector<Node*> split_quantization(Node& node) {
  if (node.op() != Op::kDynamicQuantizeLinear || !vector_unsupported_reason(node).empty())
    return {};
  const Value& x = *node.input(0);
  if (nominal_elements(x) < kMinQuantizedElements) return {};
  const std::vector<Dim>& dims = x.type().dims;
  if (std::ranges::all_of(dims, &Dim::is_fixed)) {
    const auto count = static_cast<int64_t>(nominal_elements(x));
    return QuantizeSplitter(node, {0, even_parts(count, kWantedParts)}, {Dim::fixed(count)}).run();
  }
  const auto division = find_division(x, std::vector<bool>(dims.size(), true), kWantedParts);
  return division ? QuantizeSplitter(node, *division, dims).run() : std::vector<Node*>();
}

}  // namespace

Result<bool> split_dynamic_quantize(Graph& root, const Options&) {
  return split_nodes(root, "vector", split_quantization);
}

}  // namespace sluice
