// Splits reductions of few rows into two nodes. The kernel of the first one reduces parts of the
// rows, which threads share; that of the second one what the parts gave. The parts are those of an
// axis:
//
//   before:  %y = ReduceSum(%x, [0])                                  x: f32[1000000]
//   after:   %p = Fused(%x) { %r = Reshape(%x, [64, 15625])
//                             %p = ReduceSum(%r, [1]) }
//            %y = Fused(%p) { %s = Squeeze(%p, [1])
//                             %y = ReduceSum(%s, [0]) }
//
// or, where several axes are reduced, the entries of one:
//
//   before:  %y = ReduceSum(%x, [0, 1])                               x: f32[128, N]
//   after:   %p = Fused(%x) { %p = ReduceSum(%x, [1]) }
//            %y = Fused(%p) { %y = ReduceSum(%p, [0, 1]) }
//
// Nodes before the reduction in the body of a Fused node go into the first node, those after it
// into the second. Legal because sums may be taken in any order. The parts depend on the model
// alone, so the results are the same for any number of threads. Reductions of 16 rows and more stay
// one kernel, whose rows threads share, and so does one over a single axis of open size.
#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "common/loop/lower/reduced_axes.h"
#include "common/loop/lowering.h"
#include "common/ops/attributes.h"
#include "common/target/vector.h"
#include "stages/subgraph-optimize/passes/passes.h"
#include "stages/subgraph-optimize/passes/row_parts.h"
#include "stages/subgraph-optimize/split_nodes.h"

namespace sluice {
namespace {

// Sizes at which a second launch costs less than threads save.
constexpr double kMinReducedElements = 1 << 18;
constexpr double kMinRows = 16;  // so many rows, or vectors of them, are shared as they are
constexpr double kLanes = 32;    // rows that are neighbours are computed in vectors

enum class Finish : uint8_t { kNone, kMean, kRoot, kLogarithm };
enum class Fill : uint8_t { kZero, kOne, kLowest, kHighest };

// The reduction of the parts, that of what they gave, and what follows.
struct Split {
  Op op;
  Op first;
  Op second;
  Fill fill;  // leaves a result as it is
  Finish finish = Finish::kNone;
};
constexpr Split kSplits[] = {
    {Op::kReduceSum, Op::kReduceSum, Op::kReduceSum, Fill::kZero},
    {Op::kReduceL1, Op::kReduceL1, Op::kReduceSum, Fill::kZero},
    {Op::kReduceSumSquare, Op::kReduceSumSquare, Op::kReduceSum, Fill::kZero},
    {Op::kReduceProd, Op::kReduceProd, Op::kReduceProd, Fill::kOne},
    {Op::kReduceMax, Op::kReduceMax, Op::kReduceMax, Fill::kLowest},
    {Op::kReduceMin, Op::kReduceMin, Op::kReduceMin, Fill::kHighest},
    {Op::kReduceMean, Op::kReduceSum, Op::kReduceSum, Fill::kZero, Finish::kMean},
    {Op::kReduceL2, Op::kReduceSumSquare, Op::kReduceSum, Fill::kZero, Finish::kRoot},
    {Op::kReduceLogSum, Op::kReduceSum, Op::kReduceSum, Fill::kZero, Finish::kLogarithm},
    {Op::kArgMax, Op::kArgMax, Op::kArgMax, Fill::kLowest},
    {Op::kArgMin, Op::kArgMin, Op::kArgMin, Fill::kHighest},
};

bool finds_places(Op op) { return op == Op::kArgMax || op == Op::kArgMin; }

// ---- which reductions

const Split* find_split(const Node& node) {
  const auto* found = std::ranges::find(kSplits, node.op(), &Split::op);
  if (found == std::end(kSplits)) return nullptr;
  const DType dtype = node.input(0)->type().dtype;
  if (dtype == DType::kBool) return nullptr;
  // Of integers the finished number is rounded in a way of its own (common/eval/reduce.cc).
  if (found->finish != Finish::kNone && !dtype_is_float(dtype)) return nullptr;
  // The last of equal elements is found with NaN among them by the evaluator's rule alone.
  const bool is_last = finds_places(node.op()) && node.get(attributes::ArgMax::select_last_index);
  return is_last ? nullptr : found;
}

// The rows that are computed one by one, or, where they are neighbours, in vectors.
double count_rows(const Value& x, const std::vector<bool>& reduced) {
  double rows = 1, row = 1;
  for (size_t i = 0; i < reduced.size(); ++i) {
    const double extent = nominal_extent(x, i);
    if (!reduced[i]) rows *= extent;
    if (extent != 1) row = reduced[i] ? 1 : row * extent;
  }
  return rows / row * std::ceil(row / kLanes);
}

std::optional<Division> find_division(const Node& node) {
  const auto reduced = loop::reduced_axes(node);
  if (!reduced) return std::nullopt;
  const Value& x = *node.input(0);
  const double rows = count_rows(x, *reduced);
  if (nominal_elements(x) < kMinReducedElements || rows >= kMinRows) return std::nullopt;
  return find_division(x, *reduced, static_cast<int64_t>(kWantedParts / rows));
}

// The reduction of the node, or of its body, whose other nodes need no loops of their own.
const Node* find_reduction(const Node& node) {
  if (node.op() != Op::kFused) return find_split(node) == nullptr ? nullptr : &node;
  const Node* found = nullptr;
  for (const Node& inner : node.get(attributes::Fused::body)->nodes()) {
    if (find_split(inner) != nullptr) found = &inner;
  }
  return found;
}

// ---- the two kernels

// The bits of a number, in the low bytes.
uint64_t bits_of(DType dtype, double number) {
  if (dtype == DType::kF64) return std::bit_cast<uint64_t>(number);
  if (dtype == DType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(number));
  return static_cast<uint64_t>(static_cast<int64_t>(number));
}

uint64_t fill_bits(DType dtype, Fill fill) {
  if (fill == Fill::kZero || fill == Fill::kOne) return bits_of(dtype, fill == Fill::kOne);
  const bool is_low = fill == Fill::kLowest;
  if (dtype_is_float(dtype)) return bits_of(dtype, is_low ? -HUGE_VAL : HUGE_VAL);
  const int sign = dtype_bits(dtype) - 1;
  const uint64_t largest = dtype_is_signed(dtype) ? (uint64_t{1} << sign) - 1 : ~uint64_t{0};
  return is_low == dtype_is_signed(dtype) ? ~largest : largest;
}

class ReductionSplitter {
 public:
  ReductionSplitter(Node& node, const Node& reduction, const Split& split, const Division& division)
      : node_(node),
        reduction_(reduction),
        split_(split),
        division_(division),
        axis_(static_cast<int64_t>(division.axis)),
        parts_(division.parts),
        x_(*reduction.input(0)),
        dtype_(loop::register_dtype(x_.type().dtype)) {
    find_dependents();
  }

  // Returns the two nodes that stand for the node, which nothing reads any more.
  std::vector<Node*> run() {
    FusedBuilder first(node_), second(node_);
    first.add_result(add_parts(first), nullptr);
    add_results(first, false);
    Node& before = first.finish(node_.name().empty() ? "" : node_.name() + ":parts");
    before.output().set_name(reduction_.output().name() + ":parts");
    second.bind(reduction_.output(), add_whole(second, second.input(before.output())));
    add_results(second, true);
    return {&before, &second.finish(node_.name())};
  }

 private:
  const Graph* body() const {
    return node_.op() == Op::kFused ? node_.get(attributes::Fused::body) : nullptr;
  }

  // Which values are computed from the reduction's result.
  void find_dependents() {
    dependents_.insert(&reduction_.output());
    if (body() == nullptr) return;
    for (const Node& inner : body()->nodes()) {
      for (size_t i = 0; i < inner.input_count(); ++i) {
        if (!dependents_.contains(inner.input(i))) continue;
        for (size_t k = 0; k < inner.output_count(); ++k) dependents_.insert(&inner.output(k));
      }
    }
  }

  void add_results(FusedBuilder& builder, bool dependents) {
    for (size_t i = 0; i < node_.output_count(); ++i) {
      const Value& result = body() == nullptr ? node_.output(i) : *body()->outputs()[i];
      if (dependents_.contains(&result) != dependents) continue;
      builder.add_result(builder.value(result), &node_.output(i));
    }
  }

  // ---- the first kernel

  Value& add_parts(FusedBuilder& b) {
    Value* x = &b.value(x_);
    if (x_.type().dtype != dtype_) x = &cast(b, *x, dtype_);
    Value& fill = b.element(dtype_, fill_bits(dtype_, split_.fill));
    if (parts_ > 0) x = &add_divided(b, *x, x_.type().dims, division_, fill);
    if (finds_places(split_.op)) return add_places(b, *x, fill);
    std::vector<int64_t> axes;
    for (const int64_t axis : reduced_axes()) {
      if (parts_ > 0 || axis != axis_)
        axes.push_back(parts_ > 0 && axis >= axis_ ? axis + 1 : axis);
    }
    return b.node(split_.first, {x, &b.longs(axes)});
  }

  // The place of each part's best element in the whole axis. NaN is never better.
  Value& add_places(FusedBuilder& b, Value& divided, Value& fill) {
    Value* x = &divided;
    if (dtype_is_float(dtype_)) x = &b.node(Op::kWhere, {&b.node(Op::kEqual, {x, x}), x, &fill});
    Value& place = b.node(split_.first, {x});
    place.producer()->set(attributes::ArgMax::axis, axis_ + 1);
    std::vector<int64_t> starts;
    for (int64_t part = 0; part < parts_; ++part)
      starts.push_back(part * part_extent(x_.type().dims, division_));
    Value* start = &b.longs(starts);
    const auto behind = static_cast<int64_t>(x_.type().dims.size()) - axis_;
    std::vector<int64_t> axes;
    for (int64_t axis = 1; axis <= behind; ++axis) axes.push_back(axis);
    start = &b.node(Op::kUnsqueeze, {start, &b.longs(axes)});
    return b.node(Op::kAdd, {&place, start});
  }

  // ---- the second kernel

  Value& add_whole(FusedBuilder& b, Value& parts) {
    Value* given = &parts;
    if (parts_ > 0) given = &b.node(Op::kSqueeze, {given, &b.longs({axis_ + 1})});
    if (finds_places(split_.op)) return add_place(b, *given);
    Value* y = &b.node(split_.second, {given, &b.longs(reduced_axes())});
    y->producer()->set(attributes::Reduce::keepdims, reduction_.get(attributes::Reduce::keepdims));
    if (split_.finish == Finish::kMean) y = &b.node(Op::kDiv, {y, &count(b)});
    if (split_.finish == Finish::kRoot) y = &b.node(Op::kSqrt, {y});
    if (split_.finish == Finish::kLogarithm) y = &b.node(Op::kLog, {y});
    return x_.type().dtype == dtype_ ? *y : cast(b, *y, x_.type().dtype);
  }

  // The best of the places. Where the first element is NaN, it is that one.
  Value& add_place(FusedBuilder& b, Value& places) {
    const int64_t keeps = reduction_.get(attributes::ArgMax::keepdims);
    Value& best = b.node(Op::kGatherElements, {&b.value(x_), &places});
    best.producer()->set(attributes::Gather::axis, axis_);
    Value* part = &b.node(split_.second, {&best});
    part->producer()->set(attributes::ArgMax::axis, axis_);
    part->producer()->set(attributes::ArgMax::keepdims, keeps);
    if (keeps == 0) part = &b.node(Op::kUnsqueeze, {part, &b.longs({axis_})});
    Value* place = &b.node(Op::kGatherElements, {&places, part});
    place->producer()->set(attributes::Gather::axis, axis_);
    if (dtype_is_float(dtype_)) {
      Value& first =
          b.node(Op::kSlice, {&b.value(x_), &b.longs({0}), &b.longs({1}), &b.longs({axis_})});
      place = &b.node(Op::kWhere,
                      {&b.node(Op::kEqual, {&first, &first}), place, &b.element(DType::kI64, 0)});
    }
    return keeps != 0 ? *place : b.node(Op::kSqueeze, {place, &b.longs({axis_})});
  }

  // The number of elements of a row, as a float.
  Value& count(FusedBuilder& b) {
    int64_t known = 1;
    Value* product = nullptr;
    for (const int64_t axis : reduced_axes()) {
      const Dim& dim = x_.type().dims[static_cast<size_t>(axis)];
      if (dim.is_fixed()) {
        known *= dim.value;
        continue;
      }
      Value& extent = b.node(Op::kShape, {&b.value(x_)});
      extent.producer()->set(attributes::Shape::start, axis);
      extent.producer()->set(attributes::Shape::end, axis + 1);
      Value& one = b.node(Op::kSqueeze, {&extent, &b.longs({0})});
      product = product == nullptr ? &one : &b.node(Op::kMul, {product, &one});
    }
    if (product == nullptr) return b.element(dtype_, bits_of(dtype_, static_cast<double>(known)));
    product = &b.node(Op::kMul, {product, &b.element(DType::kI64, bits_of(DType::kI64, known))});
    return cast(b, *product, dtype_);
  }

  std::vector<int64_t> reduced_axes() const {
    const std::vector<bool> reduced = *loop::reduced_axes(reduction_);
    std::vector<int64_t> axes;
    for (size_t i = 0; i < reduced.size(); ++i)
      if (reduced[i]) axes.push_back(static_cast<int64_t>(i));
    return axes;
  }

  static Value& cast(FusedBuilder& b, Value& x, DType to) {
    Value& y = b.node(Op::kCast, {&x});
    y.producer()->set(attributes::Cast::to, static_cast<int64_t>(to));
    return y;
  }

  Node& node_;
  const Node& reduction_;
  const Split& split_;
  const Division& division_;
  int64_t axis_;
  int64_t parts_;
  const Value& x_;
  DType dtype_;  // of what is computed
  std::unordered_set<const Value*> dependents_;
};

// A node that the engine does not support has no sizes to go by.
std::vector<Node*> split_reduction(Node& node) {
  const Node* reduction = find_reduction(node);
  if (reduction == nullptr || !vector_unsupported_reason(node).empty()) return {};
  const auto division = find_division(*reduction);
  if (!division) return {};
  return ReductionSplitter(node, *reduction, *find_split(*reduction), *division).run();
}

}  // namespace

Result<bool> split_reductions(Graph& root, const Options&) {
  return split_nodes(root, "vector", split_reduction);
}

}  // namespace sluice
