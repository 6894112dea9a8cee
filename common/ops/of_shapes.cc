#include "common/ops/of_shapes.h"

#include <set>

#include "common/ir/module.h"

namespace sluice {

bool is_of_shapes(const Value& value) {
  constexpr size_t kMaxValues = 256;
  std::set<const Value*> seen = {&value};
  std::vector<const Value*> open = {&value};
  while (!open.empty()) {
    const Value& next = *open.back();
    open.pop_back();
    if (next.is_constant()) continue;
    const Node* node = next.producer();
    if (node == nullptr && next.graph().role == GraphRole::kRoot) return false;
    if (node == nullptr || node->op() == Op::kShape || node->op() == Op::kSize) continue;
    for (size_t i = 0; i < node->input_count(); ++i) {
      const Value* input = node->input(i);
      if (input != nullptr && seen.insert(input).second) open.push_back(input);
    }
    if (node->input_count() == 0 || seen.size() > kMaxValues) return false;
  }
  return true;
}

}  // namespace sluice
