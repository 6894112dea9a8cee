#include "stages/subgraph-optimize/engines/aicore/contraction.h"

#include "common/ops/attributes.h"

namespace sluice {

Value* Contraction::outside(const Value& inside) const {
  if (body == nullptr) return const_cast<Value*>(&inside);
  for (size_t i = 0; i < body->inputs().size(); ++i) {
    if (body->inputs()[i] == &inside) return node->input(i);
  }
  return nullptr;
}

const Value& Contraction::source(size_t index) const {
  const Value& operand = *anchor->input(index);
  return transposes(index) ? *operand.producer()->input(0) : operand;
}

bool read_contraction(Node& node, Contraction& contraction) {
  if (is_contraction(node.op())) {
    contraction = {&node, &node, nullptr};
    return true;
  }
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  const Node* anchor = body == nullptr ? nullptr : find_anchor(*body);
  contraction = {&node, anchor, body};
  return anchor != nullptr;
}

std::optional<double> known_number(const Contraction& contraction, const Value& inside) {
  const Value* outside = contraction.outside(inside);
  return known_number(outside == nullptr ? inside : *outside);
}

}  // namespace sluice
