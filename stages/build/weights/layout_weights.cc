#include "stages/build/weights/layout_weights.h"

namespace sluice {
namespace {

constexpr uint64_t kAlignment = 64;

}  // namespace

WeightLayout layout_weights(const Graph& root, const StepList& list) {
  const Module& module = root.module();
  WeightLayout layout;
  layout.offsets.assign(module.segment_count(), UINT64_MAX);
  const auto add = [&](const Value* value) {
    if (value == nullptr || !value->is_constant()) return;
    uint64_t& offset = layout.offsets[static_cast<size_t>(value->segment())];
    if (offset != UINT64_MAX) return;
    offset = layout.bytes;
    layout.segments.push_back(value->segment());
    layout.bytes = (layout.bytes + module.segment(value->segment()).size + kAlignment - 1) / kAlignment * kAlignment;
  };
  for (const Step& step : list.steps) {
    for (const Value* input : step.inputs) add(input);
  }
  for (const Alias& alias : list.aliases) add(alias.of);
  return layout;
}

}  // namespace sluice
