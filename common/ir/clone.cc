#include "common/ir/clone.h"

#include <algorithm>

namespace sluice {

std::optional<int64_t> ModuleMapper::fixed_size(const Expression& expression) const {
  if (expression.op != ExpressionOp::kSymbol) return std::nullopt;
  const auto found = sizes_.find(static_cast<SymbolId>(expression.value));
  return found == sizes_.end() ? std::nullopt : std::optional(found->second);
}

ExpressionId ModuleMapper::expression(ExpressionId id) {
  if (same()) return id;
  if (const auto found = expressions_.find(id); found != expressions_.end()) return found->second;
  const Expression source = source_.expressions[id];
  ExpressionId mapped = -1;
  if (source.op == ExpressionOp::kConstant) {
    mapped = target_.expressions.constant(source.value);
  } else if (const auto size = fixed_size(source)) {
    mapped = target_.expressions.constant(*size);
  } else if (source.op == ExpressionOp::kSymbol) {
    Symbol symbol = source_.expressions.symbol(static_cast<SymbolId>(source.value));
    symbol.graph = symbol.value = -1;  // ids of the source are invalid in the target
    const auto known = target_.expressions.find_symbol(symbol.name);
    mapped = target_.expressions.symbol_expression(known ? *known
                                                         : target_.expressions.add_symbol(symbol));
  } else {
    const ExpressionId a = expression(source.a);
    const ExpressionId b = expression(source.b);
    mapped = target_.expressions.make(source.op, a, b);
  }
  expressions_.emplace(id, mapped);
  return mapped;
}

Dim ModuleMapper::dim(const Dim& dim) {
  return dim.is_expression() ? target_.make_dim(expression(static_cast<ExpressionId>(dim.value)))
                             : dim;
}

TypeId ModuleMapper::type(TypeId id) {
  if (same()) return id;
  if (const auto found = types_.find(id); found != types_.end()) return found->second;
  Type mapped = source_.type(id);
  for (Dim& d : mapped.dims) d = dim(d);
  if (mapped.kind != TypeKind::kTensor && mapped.kind != TypeKind::kUnknown)
    mapped.element = type(mapped.element);
  return types_[id] = target_.intern(mapped);
}

StorageId ModuleMapper::storage(StorageId id) {
  if (same() || id < 0) return id;
  Storage mapped = source_.storage(id);
  for (Dim& d : mapped.dims) d = dim(d);
  mapped.bytes = dim(mapped.bytes);
  return target_.intern(mapped);
}

SegmentId ModuleMapper::segment(SegmentId id) {
  if (same() || id < 0) return id;
  if (const auto found = segments_.find(id); found != segments_.end()) return found->second;
  Segment mapped = source_.segment(id);
  mapped.type = type(mapped.type);
  for (SegmentId& input : mapped.inputs) input = segment(input);
  if (mapped.kind == SegmentKind::kExpression) {
    const auto [graph, inserted] = expression_graphs_.try_emplace(mapped.graph, -1);
    if (inserted || !target_.has_graph(graph->second))
      graph->second = clone(source_.graph(mapped.graph)).id();
    mapped.graph = graph->second;
  }
  return segments_[id] = target_.add_segment(std::move(mapped));
}

KernelId ModuleMapper::kernel(KernelId id) {
  if (same() || id < 0) return id;
  Kernel mapped = source_.kernel(id);
  mapped.object = segment(mapped.object);
  return target_.add_kernel(mapped);
}

std::vector<uint32_t> ModuleMapper::origins(const std::vector<uint32_t>& origins) {
  if (same()) return origins;
  std::vector<uint32_t> mapped;
  for (const uint32_t origin : origins)
    mapped.push_back(target_.add_onnx_node(source_.onnx_node(origin)));
  std::sort(mapped.begin(), mapped.end());
  return mapped;
}

AttributeValue ModuleMapper::attribute(const AttributeValue& value) {
  if (const auto* ref = std::get_if<TypeRef>(&value)) return TypeRef{type(ref->id)};
  if (const auto* ref = std::get_if<SegmentRef>(&value)) return SegmentRef{segment(ref->id)};
  if (const auto* ref = std::get_if<GraphRef>(&value))
    return GraphRef{clone(source_.graph(ref->id)).id()};
  if (const auto* refs = std::get_if<std::vector<GraphRef>>(&value)) {
    std::vector<GraphRef> mapped;
    for (const GraphRef ref : *refs) mapped.push_back({clone(source_.graph(ref.id)).id()});
    return mapped;
  }
  return value;
}

Value* ModuleMapper::value(const Value& source, Graph& into, std::vector<Value*>& values) {
  Value*& mapped = values[static_cast<size_t>(source.id())];
  if (mapped == nullptr && source.is_constant()) mapped = &clone_constant(source, into);
  return mapped;
}

Value& ModuleMapper::clone_constant(const Value& source, Graph& into) {
  Value& mapped = into.add_constant(segment(source.segment()), source.name());
  mapped.set_type(type(source.type_id()));
  mapped.set_storage(storage(source.storage_id()));
  return mapped;
}

Node& ModuleMapper::clone_node(const Node& node, Graph& into, std::vector<Value*>& values,
                               Node* before) {
  std::vector<Value*> inputs;
  for (size_t i = 0; i < node.input_count(); ++i)
    inputs.push_back(node.input(i) == nullptr ? nullptr : value(*node.input(i), into, values));
  Node& copy = clone_node(node, inputs, into, before);
  for (size_t i = 0; i < node.output_count(); ++i)
    values[static_cast<size_t>(node.output(i).id())] = &copy.output(i);
  return copy;
}

Node& ModuleMapper::clone_node(const Node& node, const std::vector<Value*>& inputs, Graph& into,
                               Node* before) {
  std::vector<Attribute> attributes;  // bodies first: cloning them adds graphs
  for (const Attribute& a : node.attributes()) attributes.push_back({a.name, attribute(a.value)});
  Node& copy = into.add_node(node.op(), inputs, 0, before);
  for (Attribute& a : attributes) copy.set_attribute(a.name, std::move(a.value));
  for (size_t i = 0; i < node.output_count(); ++i) {
    Value& result = copy.add_output(type(node.output(i).type_id()), node.output(i).name());
    result.set_segment(segment(node.output(i).segment()));
    result.set_storage(storage(node.output(i).storage_id()));
  }
  copy.set_name(node.name());
  copy.add_origins(origins(node.origins()));
  copy.placement = node.placement;
  copy.placement.kernel = kernel(node.placement.kernel);
  // The streams, events and positions are those of the node's graph.
  copy.placement.stream = -1;
  copy.placement.waits.clear();
  copy.placement.records.clear();
  copy.placement.complete_after = -1;
  return copy;
}

// Copies the facts of the schedule to a copy of the graph, given the copies of its values and nodes
// by id.
void ModuleMapper::copy_schedule(const Graph& source, const std::vector<Value*>& values,
                                 const std::vector<Node*>& nodes, Graph& copy) {
  copy.streams = source.streams;
  copy.has_notifies = source.has_notifies;
  copy.notes = source.notes;
  copy.memories = source.memories;
  copy.arena_bytes = source.arena_bytes;
  copy.scratch_bytes = source.scratch_bytes;
  for (MemoryBuffer buffer : source.buffers) {
    buffer.bytes = dim(buffer.bytes);
    buffer.offset = dim(buffer.offset);
    copy.buffers.push_back(std::move(buffer));
  }
  for (const Value& value : source.values()) {
    Value* mapped = values[static_cast<size_t>(value.id())];
    const MemoryPlace& place = value.place();
    if (mapped != nullptr && place.buffer >= 0)
      mapped->set_place({place.buffer, dim(place.offset), dim(place.bytes),
                         place.capacity < 0 ? -1 : type(place.capacity)});
  }
  for (const Node& node : source.nodes()) {
    Placement& placement = nodes[static_cast<size_t>(node.id())]->placement;
    placement.stream = node.placement.stream;
    placement.waits = node.placement.waits;
    placement.records = node.placement.records;
    placement.complete_after = node.placement.complete_after;
  }
}

Graph& ModuleMapper::clone(const Graph& source) {
  Graph& copy = target_.add_graph(source.name(), source.role);
  copy.captures = source.captures;
  copy.engine = source.engine;
  copy.shapes = source.shapes;
  std::vector<Value*> values(source.value_limit(), nullptr);
  std::vector<Node*> nodes(source.node_limit(), nullptr);
  for (const Value* input : source.inputs()) {
    Value& mapped = copy.add_input(type(input->type_id()), input->name());
    mapped.set_segment(segment(input->segment()));
    mapped.set_storage(storage(input->storage_id()));
    values[static_cast<size_t>(input->id())] = &mapped;
  }
  for (const Node& node : source.nodes()) {
    Node& mapped = clone_node(node, copy, values);
    nodes[static_cast<size_t>(node.id())] = &mapped;
    for (const Node* before : node.after()) {
      if (!before->is_erased()) mapped.add_after(*nodes[static_cast<size_t>(before->id())]);
    }
  }
  for (const Value* output : source.outputs()) copy.add_output(*value(*output, copy, values));
  copy_schedule(source, values, nodes, copy);
  return copy;
}

}  // namespace sluice
