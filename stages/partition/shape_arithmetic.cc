#include "stages/partition/shape_arithmetic.h"

#include "common/base/work.h"
#include "common/ir/module.h"
#include "common/ops/op_table.h"
#include "stages/partition/cut.h"

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

bool reads_only_shapes(const Node& node, const std::vector<bool>& found) {
  bool any = false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (input == nullptr || input->is_constant()) continue;
    if (input->producer() == nullptr || !found[static_cast<size_t>(input->producer()->id())])
      return false;
    any = true;
  }
  return any;
}

}  // namespace

std::vector<bool> find_shape_arithmetic(const Graph& graph) {
  std::vector<bool> found(graph.node_limit(), false);
  if (classify_shapes(graph, true) == ShapeClass::kFixed) return found;
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    const bool starts = node.op() == Op::kShape || node.op() == Op::kSize;
    found[static_cast<size_t>(node.id())] = (starts || reads_only_shapes(node, found)) &&
                                            has_small_results(node) && !is_random(node) &&
                                            node.op() != Op::kFused;
  }
  return found;
}

}  // namespace sluice
