#include "common/ir/graph.h"

#include <algorithm>
#include <queue>

#include "common/ir/module.h"

namespace sluice {
namespace {

// Order numbers between neighbours leave space for insertions before the list is renumbered. A new
// node is kOrderStep after the one before it, or halfway, so a sequence of kOrderGap / kOrderStep
// nodes can be inserted at one place, which is what linking and inlining do.
constexpr uint64_t kOrderGap = uint64_t{1} << 36;
constexpr uint64_t kOrderStep = uint64_t{1} << 18;

}  // namespace

const Type& Value::type() const { return graph_->module().type(type_); }
void Value::set_type(Type type) { type_ = graph_->module().intern(type); }
const Storage* Value::storage() const {
  return storage_ < 0 ? nullptr : &graph_->module().storage(storage_);
}

Value& Graph::new_value(TypeId type, std::string name) {
  Value& value = values_.emplace_back();
  value.graph_ = this;
  value.id_ = static_cast<int32_t>(values_.size() - 1);
  value.type_ = type;
  value.name_ = std::move(name);
  return value;
}

Value& Graph::add_input(TypeId type, std::string name) {
  Value& value = new_value(type, std::move(name));
  value.is_input_ = true;
  inputs_.push_back(&value);
  return value;
}

void Graph::remove_input(size_t index) {
  assert(!inputs_[index]->is_used());
  inputs_[index]->erased_ = true;
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Graph::move_input_last(size_t index) {
  std::rotate(inputs_.begin() + static_cast<std::ptrdiff_t>(index),
              inputs_.begin() + static_cast<std::ptrdiff_t>(index) + 1, inputs_.end());
}

void Graph::add_output(Value& value) {
  ++value.output_uses_;
  outputs_.push_back(&value);
}

void Graph::set_output(size_t index, Value& value) {
  --outputs_[index]->output_uses_;
  ++value.output_uses_;
  outputs_[index] = &value;
}

void Graph::remove_output(size_t index) {
  --outputs_[index]->output_uses_;
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(index));
}

Node& Graph::add_node(Op op, const std::vector<Value*>& inputs, size_t outputs, Node* before) {
  Node& node = nodes_.emplace_back();
  node.graph_ = this;
  node.id_ = static_cast<int32_t>(nodes_.size() - 1);
  node.op_ = op;
  link(node, before);
  for (Value* input : inputs) node.add_input(input);
  for (size_t i = 0; i < outputs; ++i) node.add_output();
  ++node_count_;
  return node;
}

Value& Graph::add_constant(SegmentId segment, std::string name) {
  Value& value = new_value(module_->segment(segment).type, std::move(name));
  value.segment_ = segment;
  return value;
}

void Graph::replace_all_uses(Value& from, Value& to) {
  if (&from == &to) return;
  while (!from.uses_.empty()) {
    const Use use = from.uses_.back();
    use.node->set_input(use.input, &to);
  }
  if (from.output_uses_ == 0) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == &from) set_output(i, to);
  }
}

void Graph::erase_node(Node& node) {
  for (size_t i = 0; i < node.inputs_.size(); ++i) node.drop_use(i);
  node.inputs_.clear();
  for (Value* output : node.outputs_) {
    assert(!output->is_used());
    output->erased_ = true;
  }
  for (const GraphId body : node.bodies()) {
    if (module_->has_graph(body) && module_->graph(body).owner_ == &node)
      module_->graph(body).owner_ = nullptr;
  }
  node.erased_ = true;
  unlink(node);
  --node_count_;
}

void Graph::erase_value(Value& value) {
  assert(!value.is_used() && value.producer_ == nullptr && !value.is_input_);
  value.erased_ = true;
}

void Graph::link(Node& node, Node* before) {
  Node* previous = before == nullptr ? last_ : before->previous_;
  node.previous_ = previous;
  node.next_ = before;
  (previous == nullptr ? first_ : previous->next_) = &node;
  (before == nullptr ? last_ : before->previous_) = &node;
  const uint64_t low = previous == nullptr ? 0 : previous->order_;
  if (before == nullptr) {
    node.order_ = low + kOrderGap;
  } else if (before->order_ - low > 1) {
    node.order_ = low + std::min(kOrderStep, (before->order_ - low) / 2);
  } else {
    renumber();
  }
}

// The erased node keeps its own links, so that an iterator at it finds the next node.
void Graph::unlink(Node& node) {
  (node.previous_ == nullptr ? first_ : node.previous_->next_) = node.next_;
  (node.next_ == nullptr ? last_ : node.next_->previous_) = node.previous_;
}

void Graph::renumber() {
  uint64_t order = 0;
  for (Node* node = first_; node != nullptr; node = node->next_) node->order_ = order += kOrderGap;
}

void Graph::move_before(Node& node, Node* before) {
  if (before == &node) return;
  unlink(node);
  link(node, before);
  order_broken_ = true;
}

Result<void> Graph::restore_order() {
  if (!order_broken_) return {};
  // By node id: operands and control edges not yet placed.
  std::vector<uint32_t> waiting(nodes_.size(), 0);
  std::vector<std::vector<Node*>> controlled(nodes_.size());
  const auto later = [](const Node* a, const Node* b) { return a->order_ > b->order_; };
  std::priority_queue<Node*, std::vector<Node*>, decltype(later)> ready(later);
  for (Node& node : nodes()) {
    uint32_t& count = waiting[static_cast<size_t>(node.id_)];
    for (const Node::Operand& operand : node.inputs_)
      count += operand.value != nullptr && operand.value->producer_ != nullptr ? 1 : 0;
    std::erase_if(node.after_, [](const Node* before) { return before->erased_; });
    for (const Node* before : node.after_) {
      controlled[static_cast<size_t>(before->id_)].push_back(&node);
      ++count;
    }
    if (count == 0) ready.push(&node);
  }
  std::vector<Node*> placed;
  const auto release = [&](Node* node) {
    if (--waiting[static_cast<size_t>(node->id_)] == 0) ready.push(node);
  };
  while (!ready.empty()) {
    Node* node = ready.top();
    ready.pop();
    placed.push_back(node);
    for (const Value* output : node->outputs_) {
      for (const Use& use : output->uses_) release(use.node);
    }
    for (Node* next : controlled[static_cast<size_t>(node->id_)]) release(next);
  }
  if (placed.size() != node_count_) {
    std::string names;
    for (const Node& node : nodes()) {
      if (waiting[static_cast<size_t>(node.id_)] > 0 && names.size() < 200)
        names += (names.empty() ? "" : ", ") + node.label();
    }
    return make_error(ErrorCode::kCycle, "graph '{}' has a cycle through {}", name_, names);
  }
  first_ = last_ = nullptr;
  for (Node* node : placed) link(*node, nullptr);
  order_broken_ = false;
  return {};
}

std::vector<int32_t> Graph::compact() {
  StableVector<Value> values;
  std::vector<Value*> moved(values_.size(), nullptr);
  const auto keep = [&](Value& value) {
    Value& kept = values.emplace_back(std::move(value));
    moved[static_cast<size_t>(kept.id_)] = &kept;
    kept.id_ = static_cast<int32_t>(values.size() - 1);
  };
  std::vector<int32_t> old_inputs, old_outputs;
  for (const Value* input : inputs_) old_inputs.push_back(input->id_);
  for (const Value* output : outputs_) old_outputs.push_back(output->id_);
  StableVector<Node> nodes;
  std::vector<int32_t> old_operands, old_results;  // of all nodes, consecutively
  std::vector<Node*> moved_nodes(nodes_.size(), nullptr);
  for (const Node& node : this->nodes()) {
    for (const Node::Operand& operand : node.inputs_)
      old_operands.push_back(operand.value == nullptr ? -1 : operand.value->id_);
    for (const Value* output : node.outputs_) old_results.push_back(output->id_);
  }
  for (Value* input : inputs_) keep(*input);
  for (Value& value : values_) {
    if (moved[static_cast<size_t>(value.id_)] == nullptr && !value.erased_ &&
        value.producer_ == nullptr && value.is_used())
      keep(value);
  }
  for (const int32_t result : old_results) keep(values_[static_cast<size_t>(result)]);
  for (Value& value : values) value.uses_.clear();
  for (Node& node : this->nodes()) {
    Node& kept = nodes.emplace_back(std::move(node));
    moved_nodes[static_cast<size_t>(kept.id_)] = &kept;
  }
  size_t index = 0, operand = 0, result = 0;
  first_ = last_ = nullptr;
  for (Node& node : nodes) {
    node.id_ = static_cast<int32_t>(index);
    link(node, nullptr);
    std::erase_if(node.after_, [](const Node* before) { return before->erased_; });
    for (Node*& before : node.after_) before = moved_nodes[static_cast<size_t>(before->id_)];
    for (size_t i = 0; i < node.outputs_.size(); ++i) {
      node.outputs_[i] = moved[static_cast<size_t>(old_results[result++])];
      node.outputs_[i]->producer_ = &node;
    }
    for (size_t i = 0; i < node.inputs_.size(); ++i) {
      const int32_t old = old_operands[operand++];
      node.inputs_[i] = {};
      node.take_use(i, old < 0 ? nullptr : moved[static_cast<size_t>(old)]);
    }
    for (const GraphId body : node.bodies()) {
      if (module_->has_graph(body)) module_->graph(body).owner_ = &node;
    }
    ++index;
  }
  for (size_t i = 0; i < inputs_.size(); ++i)
    inputs_[i] = moved[static_cast<size_t>(old_inputs[i])];
  for (size_t i = 0; i < outputs_.size(); ++i)
    outputs_[i] = moved[static_cast<size_t>(old_outputs[i])];
  std::vector<int32_t> renumbered;
  for (const Value* value : moved) renumbered.push_back(value == nullptr ? -1 : value->id_);
  nodes_.swap(nodes);
  values_.swap(values);
  return renumbered;
}

}  // namespace sluice
