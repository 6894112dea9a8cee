#include "common/ops/view.h"

#include "common/ops/op_table.h"

namespace sluice {

bool is_view(const Node& node) {
  const OpRow* row = find_op(node.op());
  return row != nullptr && (row->flags & kView) != 0 && node.output_count() == 1 &&
         node.output().type().is_tensor() && node.output().storage() == nullptr &&
         node.input(0)->storage() == nullptr;
}

}  // namespace sluice
