#include "stages/optimize/precision/cast_constant.h"

#include <cmath>
#include <limits>

#include "common/eval/eval.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

struct Range {
  float min, max;  // finite magnitudes above zero
};
Range range_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {0x1p-24f, 65504.0f};
    case DType::kBF16:
      return {0x1p-126f, 0x1.fep127f};
    default:
      return {0, std::numeric_limits<float>::infinity()};
  }
}

std::vector<std::byte> converted(const Tensor& tensor, DType dtype) {
  const auto count = static_cast<int64_t>(tensor.bytes.size() * 8) / dtype_bits(tensor.dtype);
  std::vector<float> numbers(static_cast<size_t>(count));
  eval::load_floats(tensor.dtype, tensor.bytes.data(), 0, count, numbers.data());
  const Range range = range_of(dtype);
  for (float& number : numbers) {
    if (number == 0 || !std::isfinite(number)) continue;
    number = std::copysign(std::clamp(std::abs(number), range.min, range.max), number);
  }
  std::vector<std::byte> bytes(dtype_bytes(dtype, static_cast<uint64_t>(count)));
  eval::store_floats(dtype, bytes.data(), 0, count, numbers.data());
  return bytes;
}

// Returns the segment that an expression widens from the dtype and does nothing else with, or -1.
SegmentId widened_from(const Module& module, const Segment& segment, DType dtype) {
  if (segment.kind != SegmentKind::kExpression || segment.inputs.size() != 1) return -1;
  const Graph& graph = module.graph(segment.graph);
  const Node* node = graph.first_node();
  const bool is_cast =
      graph.node_count() == 1 && node->op() == Op::kCast && node->input(0)->is_input();
  return is_cast && node->input(0)->type().dtype == dtype ? segment.inputs[0] : -1;
}

SegmentId cast_expression(Module& module, const Value& constant, DType dtype) {
  Graph& graph = module.add_graph(constant.name(), GraphRole::kExpression);
  Node& cast = graph.add_node(Op::kCast, {&graph.add_input(constant.type_id())});
  cast.set(attributes::Cast::to, static_cast<int64_t>(dtype));
  Type type = constant.type();
  type.dtype = dtype;
  cast.output().set_type(std::move(type));
  graph.add_output(cast.output());
  return module.make_expression(cast.output().type_id(), graph.id(), {constant.segment()});
}

}  // namespace

Result<SegmentId> cast_constant(Module& module, const Value& constant, DType dtype) {
  Type type = constant.type();
  type.dtype = dtype;
  const Segment& segment = module.segment(constant.segment());
  if (const SegmentId narrow = widened_from(module, segment, dtype); narrow >= 0) return narrow;
  if (segment.kind == SegmentKind::kSplat) {
    Tensor element = make_tensor(constant.type().dtype, {});
    std::copy(segment.data.begin(), segment.data.end(), element.bytes.begin());
    return module.make_splat(module.intern(type), converted(element, dtype));
  }
  const bool is_known = segment.kind == SegmentKind::kSmall || segment.kind == SegmentKind::kBytes;
  if (!is_known || segment.size + type.dense_bytes().value_or(kFoldLimitBytes) > kFoldLimitBytes)
    return cast_expression(module, constant, dtype);
  SLUICE_ASSIGN(const Tensor tensor, evaluate_segment(module, constant.segment()));
  return module.make_constant(module.intern(type), converted(tensor, dtype));
}

}  // namespace sluice
