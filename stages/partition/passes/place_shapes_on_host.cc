// Puts small shape arithmetic on host_cpu, where its results are needed to know how much memory the rest takes.
//
//   before:  %s = Shape(%x)   %d = Gather(%s, %i)   %t = Reshape(%d, %k)
//   after:   the same three with plan {engine = host_cpu}
//
// Starts at Shape and Size and follows nodes all of whose inputs are placed so, or are constants, while every result has at most 8 elements
// (a 1-d result of unknown length counts as small). Only in graphs whose shapes are not all fixed, each body of control flow judged on its
// own: in fixed ones such nodes were folded, or are ordinary work. Nodes the user placed stay where they are; random ones are never moved.
// Legal because an engine assignment changes no result.
#include <algorithm>

#include "common/base/work.h"
#include "common/ir/module.h"
#include "common/ops/op_table.h"
#include "stages/partition/cut.h"
#include "stages/partition/passes/passes.h"

namespace sluice {
namespace {

constexpr int64_t kSmallElements = 8;

bool is_small(const Type& type) {
  if (!type.is_tensor() || !type.ranked) return false;
  if (type.is_fixed()) return type.element_count().value_or(kSmallElements + 1) <= kSmallElements;
  return type.rank() == 1;
}

bool has_small_results(const Node& node) {
  for (size_t k = 0; k < node.output_count(); ++k) {
    if (!is_small(node.output(k).type())) return false;
  }
  return true;
}

bool is_random(const Node& node) {
  const OpRow* row = find_op(node.op());
  return row != nullptr && (row->flags & kRandom) != 0;
}

bool reads_only_shapes(const Node& node, const std::vector<bool>& placed) {
  bool any = false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (input == nullptr || input->is_constant()) continue;
    if (input->producer() == nullptr || !placed[static_cast<size_t>(input->producer()->id())]) return false;
    any = true;
  }
  return any;
}

bool place(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    for (const GraphId body : node.bodies()) changed = place(graph.module().graph(body)) || changed;
  }
  if (classify_shapes(graph, true) == ShapeClass::kFixed) return changed;
  std::vector<bool> placed(graph.node_limit(), false);
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    const bool starts = node.op() == Op::kShape || node.op() == Op::kSize;
    const bool wanted =
        (starts || reads_only_shapes(node, placed)) && has_small_results(node) && !is_random(node) && node.op() != Op::kFused;
    if (!wanted) continue;
    placed[static_cast<size_t>(node.id())] = true;
    if (node.plan.engine != EngineId::kNone) continue;
    node.plan.engine = EngineId::kHostCpu;
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> place_shapes_on_host(Graph& graph, const Options&) { return place(graph); }

}  // namespace sluice
