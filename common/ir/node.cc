#include <algorithm>

#include "common/ir/graph.h"
#include "common/ir/module.h"

namespace sluice {
namespace {

auto find_by_name(const std::vector<Attribute>& attributes, std::string_view name) {
  return std::lower_bound(attributes.begin(), attributes.end(), name,
                          [](const Attribute& a, std::string_view b) { return a.name < b; });
}

template <typename T>
const T* attribute_as(const Node& node, std::string_view name) {
  const AttributeValue* value = node.find_attribute(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

}  // namespace

void Node::take_use(size_t index, Value* value) {
  inputs_[index].value = value;
  if (value == nullptr) return;
  inputs_[index].use = static_cast<uint32_t>(value->uses_.size());
  value->uses_.push_back({this, static_cast<uint32_t>(index)});
  if (value->producer_ != nullptr && !value->producer_->is_before(*this))
    graph_->order_broken_ = true;
}

// The last use in the list replaces the removed one.
void Node::drop_use(size_t index) {
  Value* value = inputs_[index].value;
  if (value == nullptr) return;
  const uint32_t hole = inputs_[index].use;
  const Use moved = value->uses_.back();
  value->uses_[hole] = moved;
  moved.node->inputs_[moved.input].use = hole;
  value->uses_.pop_back();
  inputs_[index].value = nullptr;
}

void Node::set_input(size_t index, Value* value) {
  if (inputs_.size() <= index) inputs_.resize(index + 1);
  if (inputs_[index].value == value) return;
  drop_use(index);
  take_use(index, value);
}

void Node::add_input(Value* value) {
  inputs_.emplace_back();
  take_use(inputs_.size() - 1, value);
}

void Node::remove_last_input() {
  drop_use(inputs_.size() - 1);
  inputs_.pop_back();
}

Value& Node::add_output(TypeId type, std::string name) {
  Value& value = graph_->new_value(type, std::move(name));
  value.producer_ = this;
  value.result_ = static_cast<uint32_t>(outputs_.size());
  outputs_.push_back(&value);
  return value;
}

void Node::remove_last_output() {
  assert(!outputs_.back()->is_used());
  outputs_.back()->erased_ = true;
  outputs_.pop_back();
}

const AttributeValue* Node::find_attribute(std::string_view name) const {
  const auto found = find_by_name(attributes_, name);
  return found == attributes_.end() || found->name != name ? nullptr : &found->value;
}

void Node::set_attribute(std::string_view name, AttributeValue value) {
  Module& module = graph_->module();
  const auto own = [&](GraphRef body) {
    graph_->may_have_bodies_ = true;
    if (module.has_graph(body.id)) module.graph(body.id).owner_ = this;
  };
  if (const auto* body = std::get_if<GraphRef>(&value)) own(*body);
  if (const auto* bodies = std::get_if<std::vector<GraphRef>>(&value))
    std::for_each(bodies->begin(), bodies->end(), own);
  const auto found = attributes_.begin() + (find_by_name(attributes_, name) - attributes_.cbegin());
  if (found != attributes_.end() && found->name == name) {
    found->value = std::move(value);
  } else {
    attributes_.insert(found, {std::string(name), std::move(value)});
  }
}

void Node::remove_attribute(std::string_view name) {
  const auto found = find_by_name(attributes_, name);
  if (found != attributes_.end() && found->name == name) attributes_.erase(found);
}

int64_t Node::get(const IntAttribute& attribute, int64_t otherwise) const {
  const auto* value = attribute_as<int64_t>(*this, attribute.name);
  return value == nullptr ? otherwise : *value;
}

float Node::get(const FloatAttribute& attribute) const {
  const auto* value = attribute_as<float>(*this, attribute.name);
  return value == nullptr ? attribute.value : *value;
}

std::string Node::get(const StringAttribute& attribute) const {
  const auto* value = attribute_as<std::string>(*this, attribute.name);
  return value == nullptr ? std::string(attribute.value) : *value;
}

std::vector<int64_t> Node::get(const IntsAttribute& attribute) const {
  const auto* value = attribute_as<std::vector<int64_t>>(*this, attribute.name);
  return value == nullptr ? std::vector<int64_t>{} : *value;
}

std::vector<int64_t> Node::get(const IntsAttribute& attribute, size_t count) const {
  std::vector<int64_t> values = get(attribute);
  if (values.empty()) values.assign(count, attribute.each);
  return values;
}

std::vector<float> Node::get(const FloatsAttribute& attribute) const {
  const auto* value = attribute_as<std::vector<float>>(*this, attribute.name);
  return value == nullptr ? std::vector<float>{} : *value;
}

std::vector<std::string> Node::get(const StringsAttribute& attribute) const {
  const auto* value = attribute_as<std::vector<std::string>>(*this, attribute.name);
  return value == nullptr ? std::vector<std::string>{} : *value;
}

SegmentId Node::get(const TensorAttribute& attribute) const {
  const auto* value = attribute_as<SegmentRef>(*this, attribute.name);
  return value == nullptr ? -1 : value->id;
}

Graph* Node::get(const BodyAttribute& attribute) const {
  const auto* ref = attribute_as<GraphRef>(*this, attribute.name);
  return ref == nullptr || !graph_->module().has_graph(ref->id) ? nullptr
                                                                : &graph_->module().graph(ref->id);
}

std::vector<GraphId> Node::bodies() const {
  std::vector<GraphId> ids;
  // Skips the attributes, which are in another cache line.
  if (!graph_->may_have_bodies_) return ids;
  for (const Attribute& attribute : attributes_) {
    if (const auto* body = std::get_if<GraphRef>(&attribute.value)) ids.push_back(body->id);
    if (const auto* bodies = std::get_if<std::vector<GraphRef>>(&attribute.value)) {
      for (const GraphRef body : *bodies) ids.push_back(body.id);
    }
  }
  return ids;
}

Graph* called_graph(const Node& node) {
  if (node.op() != Op::kCall) return nullptr;
  const std::vector<GraphId> bodies = node.bodies();  // one at most
  Module& module = node.graph().module();
  return bodies.empty() || !module.has_graph(bodies[0]) ? nullptr : &module.graph(bodies[0]);
}

void Node::add_after(Node& node) {
  if (std::find(after_.begin(), after_.end(), &node) != after_.end()) return;
  after_.push_back(&node);
  graph_->may_have_control_edges_ = true;
  if (!node.is_before(*this)) graph_->order_broken_ = true;
}

void Node::add_origins(const std::vector<uint32_t>& origins) {
  std::vector<uint32_t> merged;
  std::set_union(origins_.begin(), origins_.end(), origins.begin(), origins.end(),
                 std::back_inserter(merged));
  origins_ = std::move(merged);
}

void Node::set_origins(std::vector<uint32_t> origins) {
  std::sort(origins.begin(), origins.end());
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
  origins_ = std::move(origins);
}

std::string Node::label() const {
  std::string name = name_;
  if (name.empty() && !outputs_.empty()) name = outputs_[0]->name();
  if (name.empty()) name = fmt::format("#{}", id_);
  if (origins_.size() == 1) {
    const std::string& user = graph_->module().onnx_node(origins_[0]);
    if (name == fmt::format("{}/{}", user, op_name(op_)))
      return fmt::format("node '{}' (its {})", user, op_name(op_));
  }
  return fmt::format("node '{}' ({})", name, op_name(op_));
}

}  // namespace sluice
