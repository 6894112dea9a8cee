#include "stages/preprocess/onnx/overridable.h"

#include "common/ir/module.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

// Adds a branch; both branches take the optional.
Graph& add_branch(Module& module, const char* name, TypeId optional) {
  Graph& branch = module.add_graph(name, GraphRole::kBody);
  branch.add_input(optional, "given");
  branch.captures = 1;
  return branch;
}

}  // namespace

Value& add_overridable(Graph& graph, Value& input, SegmentId constant, const std::string& name) {
  Module& module = graph.module();
  const TypeId optional = module.intern(Type::optional(module.segment(constant).type));
  input.set_type(optional);
  Graph& given = add_branch(module, "given", optional);
  given.add_output(given.add_node(Op::kOptionalGetElement, {given.inputs()[0]}).output());
  Graph& absent = add_branch(module, "absent", optional);
  absent.add_output(absent.add_constant(constant, name));
  Value& has = graph.add_node(Op::kOptionalHasElement, {&input}).output();
  has.set_type(module.intern(Type::fixed_tensor(DType::kBool, {})));
  Node& choice = graph.add_node(Op::kIf, {&has, &input});
  choice.set(attributes::If::else_branch, GraphRef{absent.id()});
  choice.set(attributes::If::then_branch, GraphRef{given.id()});
  choice.output().set_type(module.segment(constant).type);
  return choice.output();
}

}  // namespace sluice
