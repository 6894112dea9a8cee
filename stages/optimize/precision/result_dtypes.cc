#include "stages/optimize/precision/result_dtypes.h"

#include <algorithm>

#include "common/ops/infer.h"
#include "common/ops/op_table.h"

namespace sluice {
namespace {

bool is_plain(const Node& node) {
  const OpRow* row = find_op(node.op());
  return row != nullptr && (row->flags & kControlFlow) == 0 &&
         op_domain(node.op()) != Domain::kSluice &&
         std::ranges::none_of(node.attributes(), [](const Attribute& attribute) {
           return std::holds_alternative<SegmentRef>(attribute.value) ||
                  std::holds_alternative<GraphRef>(attribute.value) ||
                  std::holds_alternative<TypeRef>(attribute.value) ||
                  std::holds_alternative<std::vector<GraphRef>>(attribute.value);
         });
}

// Returns the type with another dtype, and without sizes that are expressions of another module.
Type copied(const Value* value, DType dtype) {
  if (value == nullptr || !value->type().ranked) return Type::unranked(dtype);
  std::vector<Dim> dims = value->type().dims;
  for (Dim& dim : dims)
    if (!dim.is_fixed()) dim = Dim::unknown();
  return Type::tensor(dtype, std::move(dims));
}

}  // namespace

// Infers a node like it alone in a module, so that no symbol of the model is asked or made.
std::optional<std::vector<DType>> result_dtypes(const Node& node,
                                                const std::vector<DType>& inputs) {
  if (!is_plain(node)) return std::nullopt;
  Module module;
  Graph& graph = module.add_graph("node");
  std::vector<Value*> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(inputs[i] == DType::kUndefined
                           ? nullptr
                           : &graph.add_input(module.intern(copied(node.input(i), inputs[i]))));
  }
  Node& copy = graph.add_node(node.op(), operands, node.output_count());
  for (const Attribute& attribute : node.attributes())
    copy.set_attribute(attribute.name, attribute.value);
  ValueFacts facts(graph);
  if (!infer_node(copy, facts)) return std::nullopt;
  std::vector<DType> dtypes;
  for (size_t i = 0; i < copy.output_count(); ++i) {
    dtypes.push_back(copy.output(i).type().dtype);
    if (dtypes.back() == DType::kUndefined) return std::nullopt;
  }
  return dtypes;
}

}  // namespace sluice
