#include "stages/subgraph-optimize/engines/aicore/lowering.h"

#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ir/value_storage.h"
#include "common/loop/lowering.h"
#include "common/ops/attributes.h"
#include "stages/subgraph-optimize/engines/launch_operands.h"

namespace sluice {
namespace {

using Inside = std::map<const Value*, Value*>;  // looked up only

void copy_node(const Node& node, Graph& body, Inside& values) {
  std::vector<Value*> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (input == nullptr) {
      inputs.push_back(nullptr);
      continue;
    }
    Value*& mapped = values[input];
    if (mapped == nullptr) mapped = &body.add_constant(input->segment(), input->name());
    inputs.push_back(mapped);
  }
  Node& copy = body.add_node(node.op(), inputs, 1);
  for (const Attribute& attribute : node.attributes())
    copy.set_attribute(attribute.name, attribute.value);
  copy.set_name(node.name());
  copy.set_origins(node.origins());
  copy.output().set_type(node.output().type_id());
  copy.output().set_name(node.output().name());
  values[&node.output()] = &copy.output();
}

int64_t anchor_index(const Graph& body, const Value& anchor_result) {
  int64_t index = 0;
  for (const Node& node : body.nodes()) {
    if (&node == anchor_result.producer()) return index;
    ++index;
  }
  return index;
}

// Returns whether the value has other bytes in some map of this rank.
bool can_store(const Value& value, const StorageMap& map) {
  return has_formats(value.type()) && value.type().dims.size() == map.size();
}

}  // namespace

bool Lowering::is_there(const Value& value, const StorageMap& map) const {
  return !can_store(value, map) || storage_map_of(value) == map ||
         copies_.contains({value.id(), map});
}

Result<Value*> Lowering::stored(Value& value, const StorageMap& map, Node* before, Rows rows) {
  const bool has_rows = rows == Rows::kMayBeParts || !row_axis(value);
  const bool is_ordered = !can_store(value, map) || storage_map_of(value) == map;
  if (has_rows && is_ordered) return &value;
  Value*& known = copies_[{value.id(), map}];
  if (known == nullptr) {
    SLUICE_ASSIGN(known, add_copy(value, storage_in(value, map), before));
  }
  return known;
}

Result<Value*> Lowering::add_copy(Value& value, StorageId storage, Node* before) {
  Node& node = graph_.add_node(Op::kTransData, {&value}, 1, before);
  trans_data_.push_back(&node);
  if (value.producer() != nullptr) node.set_origins(value.producer()->origins());
  node.output().set_type(value.type_id());
  node.output().set_storage(storage);
  const StorageMap map = storage_map_of(node.output());
  node.output().set_name(fmt::format("{}:{}", value.name(), storage_map_name(map)));
  node.placement.engine = EngineId::kAicore;
  SLUICE_ASSIGN(const loop::LoweredNode lowered, loop::lower_node(node));
  node.placement.kernel =
      add_loop_kernel(graph_.module(), options_, kernels_, lowered.graph, node.label());
  return &node.output();
}

// The result of the TransData takes the name, and the place in the graph.
Result<void> Lowering::set_made(Value& made, const StorageMap& map, Rows rows) {
  const bool is_ordered = !has_formats(made.type()) || storage_map_of(made) == map;
  if (is_ordered && (rows == Rows::kMayBeParts || !row_axis(made))) return {};
  const std::string name = made.name();
  const StorageId wanted = made.storage_id();
  store(made, map);
  SLUICE_ASSIGN(Value * copy, add_copy(made, wanted, made.producer()->next()));
  graph_.replace_all_uses(made, *copy);
  copy->producer()->set_input(0, &made);
  copy->set_name(name);
  made.set_name(fmt::format("{}:{}", name, storage_map_name(map)));
  copies_[{copy->id(), map}] = &made;
  return {};
}

void Lowering::erase_unread_copies() {
  for (auto node = trans_data_.rbegin(); node != trans_data_.rend(); ++node)
    if (!(*node)->output().is_used()) graph_.erase_node(**node);
}

namespace {

std::vector<int64_t> packed_dims(const Type& operand, const BuildChain& pack) {
  Module module;
  Graph& body = module.add_graph("pack", GraphRole::kFused);
  Chain chain(body, body.add_input(module.intern(operand)));
  pack(chain);
  return chain.dims();
}

}  // namespace

Result<Value*> Lowering::packed(Value& operand, const BuildChain& pack, const loop::Packing& loops,
                                Node* before) {
  Module& module = graph_.module();
  Value*& known = packed_[{operand.id(), loops, packed_dims(operand.type(), pack)}];
  if (known != nullptr) return known;
  const std::string name = operand.name() + ":packed";
  if (operand.is_constant())
    return known = &graph_.add_constant(
               make_chain_expression(module, operand.segment(), "pack", pack), name);
  Graph& body = module.add_graph("pack", GraphRole::kFused);
  Chain chain(body, body.add_input(operand.type_id(), operand.name()));
  pack(chain);
  body.add_output(chain.value());
  Node& node = graph_.add_node(Op::kFused, {&operand}, 1, before);
  node.set(attributes::Fused::body, GraphRef{body.id()});
  node.placement.engine = EngineId::kAicore;
  node.placement.kernel =
      add_loop_kernel(module, options_, kernels_, loop::packing_loops(loops), name);
  node.output().set_type(chain.value().type_id());
  node.output().set_name(name);
  return known = &node.output();
}

Result<Value*> Lowering::computed(const std::vector<Value*>& inputs,
                                  const std::function<Value&(Graph& body)>& build,
                                  const std::string& name, Node* before) {
  Module& module = graph_.module();
  Graph& body = module.add_graph(name, GraphRole::kFused);
  for (const Value* input : inputs) body.add_input(input->type_id(), input->name());
  Value& result = build(body);
  body.add_output(result);
  Node& node = graph_.add_node(Op::kFused, inputs, 1, before);
  node.set(attributes::Fused::body, GraphRef{body.id()});
  node.placement.engine = EngineId::kAicore;
  node.output().set_type(result.type_id());
  node.output().set_name(name);
  SLUICE_ASSIGN(loop::LoweredNode lowered, loop::lower_node(node));
  node.placement.kernel = add_loop_kernel(module, options_, kernels_, lowered.graph, name);
  Node& launched = give_launch_operands(node, lowered);
  if (&launched != &node) graph_.erase_node(node);
  return &launched.output();
}

Value& Lowering::operand_value(const Contraction& contraction, const Value& inside) {
  Value* value = contraction.outside(inside);
  return value != nullptr ? *value : graph_.add_constant(inside.segment(), inside.name());
}

void Lowering::add_unread(const Contraction& contraction, std::vector<Operand>& operands) {
  const Node& plain = *contraction.node;
  const auto add = [&](Value* inside) {
    const bool is_operand = std::any_of(operands.begin(), operands.end(),
                                        [&](const Operand& own) { return own.inside == inside; });
    if (!is_operand) operands.push_back({inside, &operand_value(contraction, *inside)});
  };
  if (contraction.body != nullptr) {
    for (Value* input : contraction.body->inputs()) add(input);
    return;
  }
  for (size_t i = 0; i < plain.input_count(); ++i) {
    if (plain.input(i) == nullptr) continue;
    const bool lies_inside = plain.input(i)->is_constant() && !plain.input(i)->is_input();
    if (!lies_inside) add(plain.input(i));
  }
}

Result<void> Lowering::replace(const Contraction& contraction, std::vector<Operand> operands,
                               KernelId kernel, const StorageMap& made, Rows rows) {
  add_unread(contraction, operands);
  return set_made(add_fused(contraction, operands, kernel).output(), made, rows);
}

Node& Lowering::add_fused(const Contraction& contraction, const std::vector<Operand>& operands,
                          KernelId kernel) {
  Module& module = graph_.module();
  Node& old = *contraction.node;
  Graph& body = module.add_graph(old.name().empty() ? "fused" : old.name(), GraphRole::kFused);
  Inside values;
  std::vector<Value*> inputs;
  std::vector<Value*> placed;
  for (const Operand& operand : operands) {
    inputs.push_back(operand.value);
    placed.push_back(&body.add_input(operand.value->type_id(), operand.value->name()));
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    Chain chain(body, *placed[i]);
    if (operands[i].unpack) operands[i].unpack(chain);
    if (operands[i].inside != nullptr) values[operands[i].inside] = &chain.value();
  }
  if (contraction.body == nullptr) {
    copy_node(old, body, values);
  } else {
    for (const Node& node : contraction.body->nodes()) copy_node(node, body, values);
  }
  const Value& result =
      contraction.body == nullptr ? old.output() : *contraction.body->outputs()[0];
  body.add_output(*values.at(&result));
  Node& node = add_launch(old, body, inputs, kernel);
  node.set(attributes::Fused::anchor,
           anchor_index(body, *values.at(&contraction.anchor->output())));
  take_place(node, old, {0});
  return node;
}

Node& Lowering::add_launch(Node& old, Graph& body, const std::vector<Value*>& inputs,
                           KernelId kernel) {
  Node& node = graph_.add_node(Op::kFused, inputs, body.outputs().size(), &old);
  node.set(attributes::Fused::body, GraphRef{body.id()});
  node.set_origins(old.origins());
  node.placement = old.placement;
  node.placement.engine = EngineId::kAicore;
  node.placement.kernel = kernel;
  for (size_t i = 0; i < body.outputs().size(); ++i)
    node.output(i).set_type(body.outputs()[i]->type_id());
  return node;
}

// The results keep their storages.
void Lowering::take_place(Node& made, Node& old, const std::vector<size_t>& results) {
  made.set_name(old.name());
  for (size_t i = 0; i < results.size(); ++i) {
    Value& from = old.output(results[i]);
    made.output(i).set_name(from.name());
    made.output(i).set_storage(from.storage_id());
    graph_.replace_all_uses(from, made.output(i));
  }
  control_.transfer({&old}, {&made});
  graph_.erase_node(old);
}

Result<void> Lowering::give_results(Node& made, Node& old, const std::vector<size_t>& results) {
  take_place(made, old, results);
  for (size_t i = 0; i < results.size(); ++i) {
    Value& result = made.output(i);
    SLUICE_TRY(set_made(result, dense_map(result.type().dims.size()), Rows::kWhole));
  }
  return {};
}

}  // namespace sluice
