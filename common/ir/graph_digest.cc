#include <type_traits>

#include "common/ir/module.h"

namespace sluice {
namespace {

void add_text(Sha256& hash, std::string_view text) {
  hash.add_value(text.size());
  hash.add(text);
}

void add_type(Sha256& hash, const Module& module, TypeId id) {
  const Type& type = module.type(id);
  hash.add_value(type.kind);
  hash.add_value(type.dtype);
  hash.add_value(type.ranked);
  hash.add_value(type.dims.size());
  for (const Dim& dim : type.dims) {
    hash.add_value(dim.kind);
    if (dim.is_expression()) {
      add_text(hash, module.expressions.text(static_cast<ExpressionId>(dim.value)));
    } else {
      hash.add_value(dim.value);
    }
  }
  if (type.kind == TypeKind::kSequence || type.kind == TypeKind::kOptional ||
      type.kind == TypeKind::kMap)
    add_type(hash, module, type.element);
}

void add_segment(Sha256& hash, const Module& module, SegmentId id) {
  const Segment& segment = module.segment(id);
  hash.add_value(segment.kind);
  hash.add_value(segment.digest.bytes);
  add_type(hash, module, segment.type);
}

struct AttributeHasher {
  Sha256& hash;
  const Module& module;

  void operator()(int64_t value) { hash.add_value(value); }
  void operator()(float value) { hash.add_value(value); }
  void operator()(const std::string& value) { add_text(hash, value); }
  void operator()(TypeRef value) { add_type(hash, module, value.id); }
  void operator()(SegmentRef value) { add_segment(hash, module, value.id); }
  void operator()(GraphRef value) { hash.add_value(graph_digest(module.graph(value.id)).bytes); }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    hash.add_value(values.size());
    for (const T& value : values) (*this)(value);
  }
};

void add_node(Sha256& hash, const Node& node, const std::vector<int32_t>& numbers) {
  const Module& module = node.graph().module();
  add_text(hash, op_name(node.op()));
  hash.add_value(node.input_count());
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    hash.add_value(input == nullptr ? int32_t{-1} : numbers[static_cast<size_t>(input->id())]);
    if (input != nullptr && input->is_constant() && !input->is_input())
      add_segment(hash, module, input->segment());
  }
  hash.add_value(node.attributes().size());
  for (const Attribute& attribute : node.attributes()) {
    add_text(hash, attribute.name);
    hash.add_value(attribute.value.index());
    std::visit(AttributeHasher{hash, module}, attribute.value);
  }
  hash.add_value(node.output_count());
  for (size_t i = 0; i < node.output_count(); ++i) add_type(hash, module, node.output(i).type_id());
}

}  // namespace

// Values are numbered by first definition: inputs, then results in node order. Constants have the
// number -2 and are identified by their digest.
Digest graph_digest(const Graph& graph) {
  Sha256 hash;
  std::vector<int32_t> numbers(graph.value_limit(), -2);
  int32_t next = 0;
  hash.add_value(graph.captures);
  hash.add_value(graph.inputs().size());
  for (const Value* input : graph.inputs()) {
    numbers[static_cast<size_t>(input->id())] = next++;
    add_type(hash, graph.module(), input->type_id());
    hash.add_value(input->is_constant());
  }
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.output_count(); ++i)
      numbers[static_cast<size_t>(node.output(i).id())] = next++;
  }
  for (const Node& node : graph.nodes()) add_node(hash, node, numbers);
  for (const Value* output : graph.outputs()) {
    hash.add_value(numbers[static_cast<size_t>(output->id())]);
    if (output->is_constant() && !output->is_input())
      add_segment(hash, graph.module(), output->segment());
  }
  return hash.finish();
}

}  // namespace sluice
