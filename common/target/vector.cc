#include "common/target/vector.h"

#include "common/loop/lowering.h"
#include "common/ops/op_table.h"

namespace sluice {

std::string vector_unsupported_reason(const Node& node) { return loop::unsupported_reason(node); }

bool is_vector_view(const Node& node) {
  const OpRow* row = find_op(node.op());
  return row != nullptr && (row->flags & kView) != 0 && node.output_count() == 1 &&
         node.output().storage() == nullptr && node.input(0)->storage() == nullptr;
}

}  // namespace sluice
