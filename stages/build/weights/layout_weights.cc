#include "stages/build/weights/layout_weights.h"

namespace sluice {
namespace {

constexpr uint64_t kAlignment = 64;

}  // namespace

void add_weight(const Module& module, SegmentId segment, WeightLayout& layout) {
  if (layout.offsets.size() < module.segment_count())
    layout.offsets.resize(module.segment_count(), UINT64_MAX);
  uint64_t& offset = layout.offsets[static_cast<size_t>(segment)];
  if (offset != UINT64_MAX) return;
  offset = layout.bytes;
  layout.segments.push_back(segment);
  layout.bytes =
      (layout.bytes + module.segment(segment).size + kAlignment - 1) / kAlignment * kAlignment;
}

void add_weights(const Module& module, const TaskList& list, WeightLayout& layout) {
  const auto add = [&](const Value* value) {
    if (value != nullptr && value->is_constant()) add_weight(module, value->segment(), layout);
  };
  for (const Task& task : list.tasks) {
    for (const Value* input : task.inputs) add(input);
  }
  for (const Alias& alias : list.aliases) add(alias.of);
}

}  // namespace sluice
