#include "common/pass/rewriter.h"

#include <algorithm>
#include <iterator>

#include "common/base/work.h"

namespace sluice {

Replacement::Replacement(Editor& editor, std::vector<Node*> nodes)
    : editor_(editor), nodes_(std::move(nodes)) {
  add_work(Work::kMatches);
  for (const Node* node : nodes_) {
    std::vector<uint32_t> merged;
    std::ranges::set_union(origins_, node->origins(), std::back_inserter(merged));
    origins_ = std::move(merged);
  }
}

Replacement::~Replacement() {
  if (committed_) return;
  for (auto node = made_.rbegin(); node != made_.rend(); ++node) editor_.graph().erase_node(**node);
}

Node& Replacement::add(Op op, const std::vector<Value*>& inputs, size_t outputs) {
  Node& node = editor_.graph().add_node(op, inputs, outputs, nodes_.back());
  node.add_origins(origins_);
  node.placement = nodes_.back()->placement;
  made_.push_back(&node);
  return node;
}

// The model's own outputs keep their names, so one that becomes an input, a constant or a second
// name of a value is copied.
void Replacement::give(Value& old, Value& value) {
  const bool is_made = std::ranges::find(made_, value.producer()) != made_.end();
  if (is_made && !value.is_output()) {
    if (value.name().empty()) value.set_name(old.name());
    if (value.producer()->name().empty()) value.producer()->set_name(old.producer()->name());
  }
  if (is_model_output(old) && (!is_made || value.is_output())) {
    Node& copy = add(Op::kIdentity, {&value});
    editor_.replace(old, copy.add_output(old.type_id(), old.name()));
    return;
  }
  editor_.replace(old, value);
}

void Replacement::commit(const std::vector<std::pair<Value*, Value*>>& outputs) {
  add_work(Work::kReplacements);
  committed_ = true;
  for (const auto& [old, value] : outputs) give(*old, *value);
  editor_.control().transfer(nodes_, made_);
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node)
    editor_.graph().erase_node(**node);
}

}  // namespace sluice
