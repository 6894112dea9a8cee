// Gives the constants that tasks read their offsets in the weights region, which all parts share:
// in the order of first use, each once.
//
//   before:  buffer b1 = weights bytes 100            buffer b2 = weights bytes 64
//   after:   buffer b1 = weights bytes 100 offset 0   buffer b2 = weights bytes 64 offset 128
//
// With --external-weight, constants of a page and more follow the others, each at a page.
#include "stages/build/weights/layout_weights.h"

#include <algorithm>

#include "common/omfile/external_weights.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"
#include "stages/build/root_graph.h"
#include "stages/build/walk.h"

namespace sluice {
namespace {

constexpr uint64_t kAlignment = 64;

// Constants in an order, each once.
class Constants {
 public:
  explicit Constants(const Module& module) : seen_(module.segment_count(), false) {}
  void add(SegmentId segment) {
    if (seen_[static_cast<size_t>(segment)]) return;
    seen_[static_cast<size_t>(segment)] = true;
    order.push_back(segment);
  }
  std::vector<SegmentId> order;

 private:
  std::vector<bool> seen_;
};

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

WeightLayout lay_out(const Module& module, const std::vector<SegmentId>& constants,
                     ExternalWeight external) {
  WeightLayout layout;
  layout.offsets.resize(module.segment_count(), UINT64_MAX);
  for (const SegmentId segment : constants) {
    const uint64_t bytes = module.segment(segment).size;
    if (external != ExternalWeight::kNone && bytes >= kMinExternalBytes) {
      layout.outside.push_back(segment);
      continue;
    }
    layout.inside.push_back(segment);
    layout.offsets[static_cast<size_t>(segment)] = layout.inside_bytes;
    layout.inside_bytes = aligned(layout.inside_bytes + bytes);
  }
  uint64_t offset = next_external_offset(0, layout.inside_bytes);
  for (const SegmentId segment : layout.outside) {
    layout.offsets[static_cast<size_t>(segment)] = offset;
    offset = next_external_offset(offset, module.segment(segment).size);
  }
  return layout;
}

Error two_places(const Value& value) {
  return make_error(ErrorCode::kVerifyFailed, "constant '{}' has two places in the weights region",
                    value.name())
      .with_hint("schedule the lowered graph again, or give its buffers one offset");
}

// Returns the offsets in the buffers of constants, by SegmentId.
Result<std::vector<uint64_t>> read_offsets(const Module& module,
                                           const std::vector<Graph*>& graphs) {
  std::vector<uint64_t> offsets(module.segment_count(), UINT64_MAX);
  for (const Graph* graph : graphs) {
    for (const Value& value : graph->values()) {
      if (value.is_erased() || !value.is_constant() || value.place().buffer < 0) continue;
      const Dim& at = graph->buffers[static_cast<size_t>(value.place().buffer)].offset;
      uint64_t& offset = offsets[static_cast<size_t>(value.segment())];
      if (offset != UINT64_MAX && offset != static_cast<uint64_t>(at.value))
        return two_places(value);
      offset = static_cast<uint64_t>(at.value);
    }
  }
  return offsets;
}

// Returns the constants that have an offset, in the order of the offsets; one without bytes is
// where the next one is.
std::vector<SegmentId> placed_constants(const Module& module,
                                        const std::vector<uint64_t>& offsets) {
  std::vector<SegmentId> constants;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] != UINT64_MAX) constants.push_back(static_cast<SegmentId>(i));
  }
  std::ranges::stable_sort(constants, {}, [&](SegmentId segment) {
    return std::pair(offsets[static_cast<size_t>(segment)], module.segment(segment).size);
  });
  return constants;
}

}  // namespace

ExternalWeight external_weight(const Options& options) {
  const std::string kind = options.text("external-weight");
  return kind == "1"   ? ExternalWeight::kShared
         : kind == "2" ? ExternalWeight::kCombined
                       : ExternalWeight::kNone;
}

Result<WeightLayout> read_layout(const Module& module, const std::vector<Graph*>& graphs,
                                 const std::vector<SegmentId>& more, ExternalWeight external) {
  SLUICE_ASSIGN(const std::vector<uint64_t> offsets, read_offsets(module, graphs));
  const std::vector<SegmentId> placed = placed_constants(module, offsets);
  Constants constants(module);
  for (const std::vector<SegmentId>& list : {placed, more}) {
    for (const SegmentId segment : list) constants.add(segment);
  }
  WeightLayout layout = lay_out(module, constants.order, external);
  for (const SegmentId segment : placed) {
    const auto id = static_cast<size_t>(segment);
    if (offsets[id] == layout.offsets[id]) continue;
    return make_error(ErrorCode::kVerifyFailed,
                      "a constant is at {} of the weights region, expected at {}: constants follow "
                      "each other, those in files at a page",
                      offsets[id], layout.offsets[id])
        .with_hint("schedule the lowered graph again, or give its buffers other offsets");
  }
  return layout;
}

Result<bool> layout_weights(Graph& root, const Options& options) {
  const Module& module = root.module();
  const std::vector<Graph*> graphs = scheduled_graphs(root);
  Constants constants(module);
  std::vector<std::pair<MemoryBuffer*, SegmentId>> buffers;
  for (Graph* graph : graphs) {
    for (const Node& node : graph->nodes()) {
      for (size_t i = 0; i < node.input_count(); ++i) {
        if (node.input(i) == nullptr || !node.input(i)->is_constant()) continue;
        const Value& constant = *node.input(i);
        if (constant.place().buffer < 0) continue;
        constants.add(constant.segment());
        buffers.emplace_back(&graph->buffers[static_cast<size_t>(constant.place().buffer)],
                             constant.segment());
      }
    }
  }
  if (is_walked(root)) {
    for (const SegmentId segment : root_weights(root)) constants.add(segment);
  }
  const WeightLayout layout = lay_out(module, constants.order, external_weight(options));
  for (const auto& [buffer, segment] : buffers)
    buffer->offset = Dim::fixed(static_cast<int64_t>(layout.offsets[static_cast<size_t>(segment)]));
  return !buffers.empty();
}

}  // namespace sluice
