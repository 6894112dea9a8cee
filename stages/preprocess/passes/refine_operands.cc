// Gives operands of elementwise nodes the dims that the model promises for results.
//
//   before:  %s: f32[?, ?] = ReduceSum(%x, %axes)   %y: f32[3, 1] = Sqrt(%s)
//   after:   %s: f32[3, 1] = ReduceSum(%x, %axes)   %y: f32[3, 1] = Sqrt(%s)
//
// Legal where the result has the shape of the operand, since it has the promised shape in every run
// that ends without an error. Nodes are visited from the last to the first, so that dims reach the
// begin of a chain. Must run after infer-types.
#include "common/base/work.h"
#include "common/ops/infer_call.h"
#include "common/ops/op_table.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

bool is_scalar(const Type& type) { return type.is_tensor() && type.ranked && type.dims.empty(); }

// Returns the operand whose shape the result has, or null.
Value* find_operand(const Node& node) {
  const OpRow* row = find_op(node.op());
  if (row == nullptr || (row->flags & kElementwise) == 0 || node.output_count() != 1)
    return nullptr;
  if (node.op() == Op::kCastLike) return node.input(0);
  Value* found = nullptr;
  for (size_t i = 0; i < node.input_count(); ++i) {
    Value* input = node.input(i);
    if (input == nullptr || is_scalar(input->type())) continue;
    if (found != nullptr) return nullptr;
    found = input;
  }
  return found;
}

Result<bool> refine(const Node& node) {
  Value* operand = find_operand(node);
  if (operand == nullptr || operand->producer() == nullptr) return false;
  Type type = operand->type();
  const Type& result = node.output().type();
  const bool are_alike = type.is_tensor() && type.ranked && result.is_tensor() && result.ranked &&
                         type.dims.size() == result.dims.size();
  if (!are_alike || !type.has_unknown()) return false;
  type.dims = result.dims;
  bool changed = false;
  SLUICE_TRY(refine_value(*operand, type, node.label(), changed));
  return changed;
}

Result<bool> refine(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node* node = graph.last_node(); node != nullptr; node = node->previous()) {
    SLUICE_ASSIGN(const bool node_changed, refine(*node));
    changed = changed || node_changed;
    for (const GraphId body : node->bodies()) {
      SLUICE_ASSIGN(const bool body_changed, refine(graph.module().graph(body)));
      changed = changed || body_changed;
    }
  }
  return changed;
}

}  // namespace

Result<bool> refine_operands(Graph& graph, const Options&) { return refine(graph); }

}  // namespace sluice
