#include "common/loop/epilogue.h"

#include <algorithm>

namespace sluice::loop {
namespace {

constexpr BufferId kStored = 0, kSums = 1, kFirstRead = 2;

// Returns the axes of the result that an operand's axes are walked with, or nothing when the
// operand is read at another place.
std::optional<std::vector<std::optional<size_t>>> walked_axes(const ExpressionTable& table,
                                                              const Index& read,
                                                              const Index& result) {
  std::vector<std::optional<size_t>> axes(result.size());
  for (size_t axis = 0; axis < read.size(); ++axis) {
    if (table.as_constant(read[axis]) == 0) continue;
    const auto found = std::ranges::find(result, read[axis]);
    if (found == result.end()) return std::nullopt;
    axes[static_cast<size_t>(found - result.begin())] = axis;
  }
  return axes;
}

// Finds how each operand is read. All loads of an operand must be at the same place.
Result<std::vector<EpilogueRead>> find_reads(const Node& node, const LoopGraph& graph,
                                             const std::vector<const Value*>& operands) {
  std::vector<EpilogueRead> reads;
  for (size_t i = kFirstRead; i < operands.size(); ++i) reads.push_back({operands[i], {}});
  const Nest& nest = graph.nests[0];
  const Index& result = nest.sweeps[0].stores[0].access.index;
  for (const Instruction& own : nest.instructions) {
    if (own.kind != InstructionKind::kLoad) continue;
    const auto axes = walked_axes(graph.expressions, own.access.index, result);
    const bool is_sum = own.access.buffer == kSums;
    const bool fits = axes && own.guards.empty() && (!is_sum || own.access.index == result);
    EpilogueRead* read =
        is_sum ? nullptr : &reads[static_cast<size_t>(own.access.buffer - kFirstRead)];
    if (!fits || (read != nullptr && !read->axes.empty() && read->axes != *axes))
      return make_error(ErrorCode::kNotLowerable,
                        "{}: its epilogue reads other places than its own", node.label());
    if (read != nullptr) read->axes = *axes;
  }
  return reads;
}

// Removes the loops and all that belongs to them.
void reduce_to_point(LoopGraph& graph) {
  graph.expressions = {};
  graph.symbols.clear();
  for (Buffer& buffer : graph.buffers) {
    buffer.dims.clear();
    buffer.capacity.clear();
    buffer.storage.clear();
  }
  Nest& nest = graph.nests[0];
  nest.axes.clear();
  nest.outer = 0;
  for (Instruction& own : nest.instructions) own.access.index.clear();
  for (Store& store : nest.sweeps[0].stores) store.access.index.clear();
}

}  // namespace

bool Lowering::is_sum(const Value& value) const {
  return epilogue_ != nullptr && &value == epilogue_->sums;
}

Result<InstructionId> Lowering::begin_epilogue(const Index& index) {
  return epilogue_->begin(*this, index, load(kSums, index, {}, -1));
}

Result<void> Lowering::run_epilogue(const EpilogueRules& rules) {
  epilogue_ = &rules;
  graph_.buffers.resize(kFirstRead);
  graph_.buffers[kStored].dtype = rules.stored;
  graph_.buffers[kStored].is_written = true;
  graph_.buffers[kSums].dtype = rules.sum;
  operands_ = {rules.result, rules.sums};
  name_sizes();
  for (const BufferId id : {kStored, kSums})
    describe_buffer(*operands_[static_cast<size_t>(id)], graph_.buffers[static_cast<size_t>(id)]);
  const Index index = begin_nest(extents(*rules.result));
  SLUICE_ASSIGN(InstructionId id, element(*rules.result, index));
  if (rules.finish) id = rules.finish(*this, id);
  nest().sweeps.back().stores.push_back({{kStored, index}, id, {}});
  return {};
}

Result<LoweredEpilogue> lower_epilogue(const Node& node, const EpilogueRules& rules) {
  Lowering lowering(node);
  SLUICE_TRY(lowering.run_epilogue(rules));
  LoweredEpilogue lowered;
  lowered.loops = std::move(lowering.graph_);
  SLUICE_ASSIGN(lowered.reads, find_reads(node, lowered.loops, lowering.operands_));
  reduce_to_point(lowered.loops);
  return lowered;
}

}  // namespace sluice::loop
