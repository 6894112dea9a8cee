// Gives the constants that tasks read their offsets in the weights region, which all parts share:
// in the order of first use, each once.
//
//   before:  buffer b1 = weights bytes 100            buffer b2 = weights bytes 64
//   after:   buffer b1 = weights bytes 100 offset 0   buffer b2 = weights bytes 64 offset 128
#include "stages/build/weights/layout_weights.h"

#include <algorithm>

#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

constexpr uint64_t kAlignment = 64;

uint64_t end_of(const Module& module, const WeightLayout& layout, SegmentId segment) {
  const uint64_t end = layout.offsets[static_cast<size_t>(segment)] + module.segment(segment).size;
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

Error two_places(const Value& value) {
  return make_error(ErrorCode::kVerifyFailed, "constant '{}' has two places in the weights region",
                    value.name())
      .with_hint("schedule the lowered graph again, or give its buffers one offset");
}

}  // namespace

void add_weight(const Module& module, SegmentId segment, WeightLayout& layout) {
  if (layout.offsets.size() < module.segment_count())
    layout.offsets.resize(module.segment_count(), UINT64_MAX);
  uint64_t& offset = layout.offsets[static_cast<size_t>(segment)];
  if (offset != UINT64_MAX) return;
  offset = layout.bytes;
  layout.segments.push_back(segment);
  layout.bytes = end_of(module, layout, segment);
}

Result<WeightLayout> read_layout(const Module& module, const std::vector<Graph*>& graphs) {
  WeightLayout layout;
  layout.offsets.resize(module.segment_count(), UINT64_MAX);
  for (const Graph* graph : graphs) {
    for (const Value& value : graph->values()) {
      if (value.is_erased() || !value.is_constant() || value.place().buffer < 0) continue;
      const Dim& at = graph->buffers[static_cast<size_t>(value.place().buffer)].offset;
      uint64_t& offset = layout.offsets[static_cast<size_t>(value.segment())];
      if (offset == UINT64_MAX) layout.segments.push_back(value.segment());
      if (offset != UINT64_MAX && offset != static_cast<uint64_t>(at.value))
        return two_places(value);
      offset = static_cast<uint64_t>(at.value);
    }
  }
  std::ranges::stable_sort(layout.segments, {}, [&](SegmentId segment) {
    return layout.offsets[static_cast<size_t>(segment)];
  });
  for (const SegmentId segment : layout.segments) {
    if (layout.offsets[static_cast<size_t>(segment)] != layout.bytes) {
      return make_error(ErrorCode::kVerifyFailed,
                        "a constant is at {} of the weights region, and the one before it ends at "
                        "{}: they follow each other",
                        layout.offsets[static_cast<size_t>(segment)], layout.bytes)
          .with_hint("schedule the lowered graph again, or give its buffers other offsets");
    }
    layout.bytes = end_of(module, layout, segment);
  }
  return layout;
}

Result<bool> layout_weights(Graph& root, const Options&) {
  WeightLayout layout;
  const Module& module = root.module();
  for (Graph* graph : scheduled_graphs(root)) {
    for (const Node& node : graph->nodes()) {
      for (size_t i = 0; i < node.input_count(); ++i) {
        if (node.input(i) == nullptr || !node.input(i)->is_constant()) continue;
        const Value& constant = *node.input(i);
        if (constant.place().buffer < 0) continue;
        add_weight(module, constant.segment(), layout);
        graph->buffers[static_cast<size_t>(constant.place().buffer)].offset = Dim::fixed(
            static_cast<int64_t>(layout.offsets[static_cast<size_t>(constant.segment())]));
      }
    }
  }
  return !layout.segments.empty();
}

}  // namespace sluice
