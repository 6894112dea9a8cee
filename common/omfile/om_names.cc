#include "common/omfile/om_names.h"

#include <algorithm>

namespace sluice {

std::string node_text(const pb::ModelDef& model, uint32_t node) {
  return node_text(model, NodeNames(model), node);
}

std::string node_text(const pb::ModelDef& model, const NodeNames& names, uint32_t node) {
  const std::string text = "node '" + names[node] + "'";
  if (node >= static_cast<uint32_t>(model.node_op_size())) return text;
  return text + " (" + model.ops(static_cast<int>(model.node_op(static_cast<int>(node)))) + ")";
}

std::string maker_text(const pb::ModelDef& model, const pb::FixedPart& part, int value) {
  int first = 0;
  for (int t = 0; t < part.task_kind_size(); ++t) {
    const auto made = part.operand().begin() + first,
               end = made + static_cast<int>(part.task_outputs(t));
    if (std::find(made, end, static_cast<uint32_t>(value)) != end)
      return node_text(model, part.task_node(t));
    first = static_cast<int>(part.task_operand_end(t));
  }
  return {};
}

std::string maker_of_largest(const pb::ModelDef& model, const pb::FixedPart& part) {
  int largest = -1;
  for (int v = 0; v < part.value_region_size(); ++v) {
    if (part.value_region(v) != pb::REGION_ARENA) continue;
    if (largest < 0 || part.value_bytes(v) > part.value_bytes(largest)) largest = v;
  }
  return largest < 0 ? std::string() : maker_text(model, part, largest);
}

}  // namespace sluice
