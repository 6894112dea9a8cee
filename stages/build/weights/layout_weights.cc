#include "stages/build/weights/layout_weights.h"

#include "common/base/parallel.h"
#include "common/eval/eval.h"

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

Result<WeightBytes> evaluate_weights(const Module& module, const WeightLayout& layout, int64_t threads) {
  WeightBytes weights;
  weights.evaluated.resize(layout.segments.size());
  SLUICE_TRY(parallel_for(layout.segments.size(), threads, [&](size_t i) -> Result<void> {
    const SegmentKind kind = module.segment(layout.segments[i]).kind;
    if (kind != SegmentKind::kExpression && kind != SegmentKind::kSplat) return {};
    SLUICE_ASSIGN(weights.evaluated[i], evaluate_segment(module, layout.segments[i]));
    return {};
  }));
  for (size_t i = 0; i < layout.segments.size(); ++i) {
    const Segment& segment = module.segment(layout.segments[i]);
    std::span<const std::byte> bytes = weights.evaluated[i].bytes;
    if (segment.kind != SegmentKind::kExpression && segment.kind != SegmentKind::kSplat) {
      SLUICE_ASSIGN(bytes, module.bytes(layout.segments[i]));
    }
    if (bytes.size() != segment.size) {
      return make_error(ErrorCode::kInternal, "constant sha256:{} has {} bytes, expected {}", digest_hex(segment.digest).substr(0, 16),
                        bytes.size(), segment.size);
    }
    weights.pieces.push_back({layout.offsets[static_cast<size_t>(layout.segments[i])], bytes});
  }
  return weights;
}

}  // namespace sluice
