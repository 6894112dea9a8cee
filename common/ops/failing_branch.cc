#include "common/ops/failing_branch.h"

#include "common/ops/attributes.h"

namespace sluice {

bool is_of_sizes(ErrorCode code) {
  return code == ErrorCode::kBadShape || code == ErrorCode::kBadNode ||
         code == ErrorCode::kBadValue;
}

const Node* failing_node(const Graph& branch) {
  const Node* first = branch.first_node();
  return first != nullptr && first->op() == Op::kFail ? first : nullptr;
}

Node& add_failing_node(Graph& branch, size_t results, std::string message) {
  Node& node = branch.add_node(Op::kFail, {}, results);
  node.set(attributes::Fail::message, std::move(message));
  for (size_t i = 0; i < results; ++i) branch.add_output(node.output(i));
  return node;
}

std::string failing_branch_text(const Node& node, std::string_view branch,
                                std::string_view message) {
  return fmt::format("{}: graph '{}' fails when it is taken: {}", node.label(), branch, message);
}

}  // namespace sluice
