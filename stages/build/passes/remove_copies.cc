// Takes out tasks that copy a value into the same type and storage.
//
//   before:  %1 = MemCopy(%x)   %y = Relu(%1)
//   after:   %y = Relu(%x)
//
// A task is removed when it passes all of these rules, in this order:
//
//   | rule | looks at              | the task stays when                                  |
//   |------|-----------------------|------------------------------------------------------|
//   | 1    | the op                | it is no MemCopy, TransData or Identity              |
//   | 2    | the placement         | it has no task, or the user keeps it                 |
//   | 3    | the type and storage  | they differ: it converts (cancel-trans-data)         |
//   | 4    | what is written later | the value grows in place: a state's memory           |
//   | 5    | pieces of a whole     | a Concat or Split joins or makes one of the two: the |
//   |      |                       | copy lets both lie somewhere (mark-no-task)          |
//   | 6    | outputs               | it fills an output, and its operand is an input, a   |
//   |      |                       | constant or an output: nothing else would write it   |
//
// Legal because the two values then have the same bytes for as long as either is read: a result is
// written over an operand only at its last reader (memory/shared_values.h), appending to a state
// (rule 4) is all else that is written in place. The copies of resolve-conflicts and mark-no-task
// are needed, and made later.
//
// Must run after cancel-trans-data, which may leave a copy between equal storages.
#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ops/pieces.h"
#include "common/pass/editor.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

bool is_copy(const Node& node) {
  return node.op() == Op::kMemCopy || node.op() == Op::kTransData || node.op() == Op::kIdentity;
}

bool has_removable_task(const Node& node) { return !node.placement.no_task && is_removable(node); }

bool is_piece(const Value& value) {
  const bool is_made = value.producer() != nullptr && is_piecewise(*value.producer());
  return is_made ||
         std::ranges::any_of(value.uses(), [](const Use& use) { return is_piecewise(*use.node); });
}

bool remove(Editor& editor, Node& node) {
  if (!is_copy(node) || !has_removable_task(node)) return false;
  Value &from = *node.input(0), &to = node.output();
  if (from.type_id() != to.type_id() || from.storage_id() != to.storage_id()) return false;
  if (append_axis(from) || is_piece(from) || is_piece(to)) return false;
  return editor.replace(to, from) && editor.erase_unused(node);  // rule 6: replace() says no
}

}  // namespace

Result<bool> remove_copies(Graph& root, const Options&) { return on_every_node(root, remove); }

}  // namespace sluice
