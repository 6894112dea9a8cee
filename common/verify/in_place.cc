// Level scheduled: a kernel may write its result over an operand only where each element is read
// before anything is written to it. The checker of the compiled model (common/omcheck) knows where
// bytes lie, and only the graph says how a kernel reads them.
#include <set>

#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/verify/findings.h"

namespace sluice::verifying {
namespace {

bool is_elementwise(const Node& node) {
  const OpRow* row = find_op(node.op());
  return row != nullptr && (row->flags & kElementwise) != 0;
}

// Returns whether all that a body computes from a value is elementwise.
bool is_read_elementwise(const Value& value) {
  std::set<const Value*> seen = {&value};
  for (std::vector<const Value*> left = {&value}; !left.empty();) {
    const std::vector<Use>& uses = left.back()->uses();
    left.pop_back();
    for (const Use& use : uses) {
      if (!is_elementwise(*use.node)) return false;
      for (size_t k = 0; k < use.node->output_count(); ++k) {
        const Value* made = &use.node->output(k);
        if (seen.insert(made).second) left.push_back(made);
      }
    }
  }
  return true;
}

bool may_overwrite(const Node& node, size_t operand, const Value& result) {
  const Value& from = *node.input(operand);
  if (from.type_id() != result.type_id() || from.storage_id() != result.storage_id()) return false;
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  if (body == nullptr || operand >= body->inputs().size()) return is_elementwise(node);
  return is_read_elementwise(*body->inputs()[operand]);
}

// Returns whether two values begin at the same byte, as far as offsets are known.
bool begin_together(const Graph& graph, const Value& a, const Value& b) {
  if (a.place().buffer < 0 || b.place().buffer < 0) return false;
  if (a.place().buffer == b.place().buffer) return a.place().offset == b.place().offset;
  const auto memory_of = [&](const Value& value) {
    return graph.buffers[static_cast<size_t>(value.place().buffer)].binding;
  };
  if (memory_of(a) != memory_of(b)) return false;
  Module& module = graph.module();
  const auto begin_of = [&](const Value& value) -> std::optional<ExpressionId> {
    const MemoryBuffer& buffer = graph.buffers[static_cast<size_t>(value.place().buffer)];
    const auto place = module.dim_expression(value.place().offset);
    if (buffer.memory != MemoryClass::kArena || !buffer.offset.is_fixed() || !place)
      return std::nullopt;
    return module.expressions.add(*place, module.expressions.constant(buffer.offset.value));
  };
  const auto from = begin_of(a), to = begin_of(b);
  return from && to && *from == *to;
}

}  // namespace

void check_in_place(const Graph& graph, Findings& findings) {
  for (const Node& node : graph.nodes()) {
    if (node.placement.kernel < 0 || node.placement.no_task) continue;
    for (size_t k = 0; k < node.output_count(); ++k) {
      const Value& result = node.output(k);
      if (result.type().dense_bytes() == 0) continue;
      for (size_t i = 0; i < node.input_count(); ++i) {
        const Value* operand = node.input(i);
        if (operand == nullptr || operand->type().dense_bytes() == 0) continue;
        if (begin_together(graph, *operand, result) && !may_overwrite(node, i, result))
          findings.add("{}: writes {} over {}, which it does not read element by element",
                       node.label(), value_label(result), value_label(*operand));
      }
    }
  }
}

}  // namespace sluice::verifying
