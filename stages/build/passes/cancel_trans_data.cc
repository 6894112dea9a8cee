// Takes out copies into another order of storage and back, and those that nothing reads.
//
//   before:  %c: storage nhwc = Conv(…)   %d = TransData(%c)   %e: storage nhwc = TransData(%d)
//            %y = Conv(%e)
//   after:   %c: storage nhwc = Conv(…)   %y = Conv(%c)
//
// Legal because a TransData changes no element: what comes back to a value's type and storage is
// the value. The first copy stays while something else reads it. Left alone are copies that the
// placement keeps; states that are appended to in place; rows of a wider value and operands of a
// Concat, which are copied to lie there (sluice-optimize's store-pieces); and an output whose value
// is an input or another output, which a copy must fill.
//
// Subgraphs are lowered one by one, so one may convert what the next converts back. The same value
// converted twice is one value after merge-equal-nodes, which must run before.
#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ir/value_storage.h"
#include "common/ops/pieces.h"
#include "common/pass/editor.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

// Returns whether the value has its place for a reason of its own.
bool is_placed(const Value& value) {
  return append_axis(value) || row_axis(value) ||
         std::ranges::any_of(value.uses(), [](const Use& use) { return is_piecewise(*use.node); });
}

// Returns the value that two copies give back, or null.
Value* given_back(const Node& back) {
  const Node* there = back.input(0)->producer();
  if (there == nullptr || there->op() != Op::kTransData || there->placement.keep) return nullptr;
  Value* value = there->input(0);
  const bool is_same = value->storage_id() == back.output().storage_id();
  return is_same && !is_placed(*value) && !is_placed(back.output()) ? value : nullptr;
}

bool cancel(Editor& editor, Node& node) {
  if (node.op() != Op::kTransData || !is_removable(node)) return false;
  Value* value = given_back(node);
  const bool is_replaced = value != nullptr && editor.replace(node.output(), *value);
  return editor.erase_unused(node) || is_replaced;
}

}  // namespace

Result<bool> cancel_trans_data(Graph& root, const Options&) { return on_every_node(root, cancel); }

}  // namespace sluice
