#include "common/tools/show_onnx/weights.h"

#include <algorithm>
#include <set>

#include "common/text/names.h"

namespace sluice {
namespace {

constexpr uint64_t kAllowedPart = 20;  // a twentieth of the bytes of all constants

constexpr DType kShapedDTypes[] = {DType::kF16, DType::kF32, DType::kF64, DType::kI8,
                                   DType::kI16, DType::kI32, DType::kI64, DType::kU8,
                                   DType::kU16, DType::kU32, DType::kU64, DType::kBool};

}  // namespace

bool has_constant_of_shape(DType dtype) {
  return std::ranges::find(kShapedDTypes, dtype) != std::end(kShapedDTypes);
}

Weights::Weights(const Module& module)
    : uses_(module.segment_count()),
      written_(module.segment_count()),
      stored_(module.segment_count()),
      is_chosen_(module.segment_count()) {
  count_uses(module);
  for (SegmentId id = 0; static_cast<size_t>(id) < uses_.size(); ++id) {
    const Segment& segment = module.segment(id);
    const bool has_bytes = segment.kind == SegmentKind::kBytes;
    if (uses_[static_cast<size_t>(id)] > 0 && has_bytes) budget_ += segment.size / kAllowedPart;
  }
  for (SegmentId id = 0; static_cast<size_t>(id) < uses_.size(); ++id) {
    if (uses_[static_cast<size_t>(id)] > 0) choose(module, id);
  }
}

void Weights::count_uses(const Module& module) {
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id) || module.graph(id).role == GraphRole::kExpression) continue;
    count_constants(module, module.graph(id));
  }
}

void Weights::count_constants(const Module& module, const Graph& graph) {
  std::set<SegmentId> seen;
  for (const Value& value : graph.values()) {
    const bool is_constant = text::is_shown_constant(value) && !value.is_input();
    if (is_constant && seen.insert(value.segment()).second) count_use(module, value.segment());
  }
}

void Weights::count_use(const Module& module, SegmentId id) {
  const Segment& segment = module.segment(id);
  const bool is_first = uses_[static_cast<size_t>(id)]++ == 0;
  if (!is_first || segment.kind != SegmentKind::kExpression) return;
  for (const SegmentId input : segment.inputs) count_use(module, input);
  count_constants(module, module.graph(segment.graph));
}

// Returns the bytes that the file needs for an expression's operands alone.
uint64_t Weights::bytes_instead_of(const Module& module, SegmentId id) const {
  uint64_t bytes = 0;
  for (const SegmentId input : module.segment(id).inputs) {
    if (uses_[static_cast<size_t>(input)] == 1) bytes += stored_[static_cast<size_t>(input)];
  }
  return bytes;
}

void Weights::choose(const Module& module, SegmentId id) {
  const auto at = static_cast<size_t>(id);
  if (is_chosen_[at]) return;
  is_chosen_[at] = true;
  const Segment& segment = module.segment(id);
  for (const SegmentId input : segment.inputs) choose(module, input);
  if (segment.kind == SegmentKind::kSplat) {
    written_[at] = !has_constant_of_shape(module.type(segment.type).dtype);
    return;
  }
  stored_[at] = segment.size;
  written_[at] = true;
  if (segment.kind != SegmentKind::kExpression) return;
  const uint64_t instead = bytes_instead_of(module, id);
  const uint64_t added = segment.size > instead ? segment.size - instead : 0;
  written_[at] = added <= budget_;
  if (written_[at]) {
    budget_ -= added;
  } else {
    stored_[at] = instead;
  }
}

}  // namespace sluice
