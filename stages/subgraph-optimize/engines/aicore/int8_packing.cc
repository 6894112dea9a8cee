#include "stages/subgraph-optimize/engines/aicore/int8_packing.h"

#include <algorithm>

#include "common/ir/module.h"
#include "stages/subgraph-optimize/codegen/ceil_div.h"

namespace sluice {
namespace {

constexpr int32_t kShift = 128;  // packed weights are signed

}  // namespace

// Appends the chain to [co, ci / groups, kh, kw] of i32, signed.
void Int8Packing::rows_of_columns(Chain& chain) const {
  if (is_matrix && !transposed) chain.transpose({1, 0});
  chain.reshape({co, ci_per_group, kh, kw});
  if (dtype == DType::kU8) chain.cast(DType::kI32).add_number(-kShift).cast(DType::kI8);
}

void Int8Packing::pack(Chain& chain) const {
  rows_of_columns(chain);
  if (is_depthwise) {
    chain.reshape({co, kh * kw}).transpose({1, 0}).pad_last(nr);
    return;
  }
  const int64_t columns = round_up(co / groups, nr), depth = round_up(reduction(), unit);
  chain.transpose({0, 2, 3, 1}).reshape({groups, co / groups, reduction()}).pad_last(depth);
  chain.transpose({0, 2, 1})
      .pad_last(columns)
      .reshape({groups, depth / unit, unit, columns / nr, nr})
      .transpose({0, 3, 1, 4, 2});
}

void Int8Packing::unpack(Chain& chain) const {
  if (is_depthwise) {
    chain.slice_last(co).transpose({1, 0}).reshape({co, 1, kh, kw});
  } else {
    const int64_t columns = round_up(co / groups, nr), depth = round_up(reduction(), unit);
    chain.transpose({0, 2, 4, 1, 3})
        .reshape({groups, depth, columns})
        .slice_last(co / groups)
        .transpose({0, 2, 1});
    chain.slice_last(reduction()).reshape({co, kh, kw, ci_per_group}).transpose({0, 3, 1, 2});
  }
  if (dtype == DType::kU8) chain.cast(DType::kI32).add_number(kShift).cast(DType::kU8);
  if (is_matrix && !transposed) chain.reshape({co, ci_per_group}).transpose({1, 0});
  chain.reshape(dims);
}

void sum_weights(const Int8Packing& packing, Value* zero_points, Chain& chain) {
  chain.cast(DType::kI32);
  if (packing.is_matrix && !packing.transposed) chain.transpose({1, 0});
  chain.reshape({packing.co, packing.reduction()});
  if (zero_points != nullptr) {
    Chain zeros(chain.graph(), *zero_points);
    zeros.cast(DType::kI32).reshape({zero_points->type().element_count().value_or(1), 1});
    chain.subtract(zeros.value());
  }
  chain.sum_last();
}

void spread_zero_points(const Int8Packing& packing, Chain& chain) {
  chain.cast(DType::kI32);
  if (packing.dtype == DType::kU8) chain.add_number(-kShift);
  chain.reshape({chain.value().type().element_count().value_or(1)}).expand({packing.co});
}

SegmentId make_weight_sums(Module& module, const Int8Packing& packing, SegmentId weights,
                           const Value* zero_point) {
  Graph& graph = module.add_graph("sums", GraphRole::kExpression);
  std::vector<SegmentId> inputs = {weights};
  Chain chain(graph, graph.add_input(module.segment(weights).type, "weights"));
  Value* zeros = nullptr;
  if (zero_point != nullptr) {
    inputs.push_back(zero_point->segment());
    zeros = &graph.add_input(module.segment(zero_point->segment()).type, "zero");
  }
  sum_weights(packing, zeros, chain);
  graph.add_output(chain.value());
  return module.make_expression(chain.value().type_id(), graph.id(), inputs);
}

bool has_zero_points(const Int8Packing& packing, const Value* zero_point) {
  const std::byte neutral{static_cast<unsigned char>(packing.dtype == DType::kU8 ? kShift : 0)};
  if (zero_point == nullptr) return packing.dtype == DType::kU8;
  if (!zero_point->is_constant()) return true;
  const Segment& segment = zero_point->graph().module().segment(zero_point->segment());
  if (segment.kind != SegmentKind::kSmall && segment.kind != SegmentKind::kSplat) return true;
  return !std::all_of(segment.data.begin(), segment.data.end(),
                      [&](std::byte byte) { return byte == neutral; });
}

SegmentId make_zero_points(Module& module, const Int8Packing& packing, const Value* zero_point) {
  if (zero_point == nullptr) {
    const std::vector<int32_t> all(static_cast<size_t>(packing.co), -kShift);
    const auto bytes = std::as_bytes(std::span(all));
    return module.make_constant(module.intern(Type::fixed_tensor(DType::kI32, {packing.co})),
                                {bytes.begin(), bytes.end()});
  }
  const auto spread_points = [&](Chain& chain) { spread_zero_points(packing, chain); };
  return make_chain_expression(module, zero_point->segment(), "zero", spread_points);
}

}  // namespace sluice
