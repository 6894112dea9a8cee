#include "stages/subgraph-optimize/engines/aicore/lowering.h"

#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ops/attributes.h"
#include "stages/subgraph-optimize/codegen/conv_kinds.h"
#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"

namespace sluice {
namespace {

// Returns whether both layouts are the same bytes: there is one channel or one pixel.
bool is_same_layout(const Type& type) {
  if (type.rank() != 4) return true;
  const auto is_one = [&](size_t axis) { return type.dims[axis] == Dim::fixed(1); };
  return is_one(1) || (is_one(2) && is_one(3));
}

Result<LayoutCopySpec> layout_spec(const Module& module, const Type& type, bool channels_last) {
  SLUICE_ASSIGN(const std::vector<Extent> dims, OperandSizes(module, {&type}).of(type));
  return LayoutCopySpec{dims[0], dims[1].factor, dims[2] * dims[3], channels_last,
                        dtype_bits(type.dtype) / 8};
}

using Inside = std::map<const Value*, Value*>;  // looked up only

// Returns whether a node reads an input: Gemm with beta = 0 does not read its third, which is then
// not an operand of the kernel.
bool is_read(const Node& node, size_t input) {
  if (node.input(input) == nullptr) return false;
  return node.op() != Op::kGemm || input != 2 || node.get(attributes::Gemm::beta) != 0;
}

void copy_node(const Node& node, Graph& body, Inside& values) {
  std::vector<Value*> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (!is_read(node, i)) {
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

}  // namespace

bool is_channels_last(const Value& value) {
  return value.storage() != nullptr && value.storage()->format == StorageFormat::kNhwc;
}

void Lowering::store_channels_last(Value& value) {
  const Type& type = value.type();
  if (is_same_layout(type)) return;
  Storage storage;
  storage.format = StorageFormat::kNhwc;
  for (const size_t axis : {0, 2, 3, 1}) storage.dims.push_back(type.dims[axis]);
  storage.bytes = dense_bytes(graph_.module(), type.dtype, type.dims);
  value.set_storage(graph_.module().intern(storage));
}

Result<Value*> Lowering::converted(Value& value, Node* before, bool channels_last) {
  if (is_same_layout(value.type()) || is_channels_last(value) == channels_last) return &value;
  Value*& known = converted_[{value.id(), channels_last}];
  if (known != nullptr) return known;
  SLUICE_ASSIGN(const LayoutCopySpec spec,
                layout_spec(graph_.module(), value.type(), channels_last));
  const KernelId id = kernel(spec, generate_layout_copy);
  Node& node = graph_.add_node(Op::kTransData, {&value}, 1, before);
  node.placement.engine = EngineId::kAicore;
  node.placement.kernel = id;
  if (value.producer() != nullptr) node.set_origins(value.producer()->origins());
  node.output().set_type(value.type_id());
  node.output().set_name(value.name() + (channels_last ? ":nhwc" : ":nchw"));
  if (channels_last) store_channels_last(node.output());
  return known = &node.output();
}

Result<Value*> Lowering::packed(Value& operand, const BuildChain& pack, const PackSpec& spec,
                                Node* before) {
  Module& module = graph_.module();
  Value*& known = packed_[{operand.id(), canonical_text(spec)}];
  if (known != nullptr) return known;
  const std::string name = operand.name() + ":packed";
  if (operand.is_constant())
    return known = &graph_.add_constant(
               make_chain_expression(module, operand.segment(), "pack", pack), name);
  const KernelId id = kernel(spec, generate_pack);
  Graph& body = module.add_graph("pack", GraphRole::kFused);
  Chain chain(body, body.add_input(operand.type_id(), operand.name()));
  pack(chain);
  body.add_output(chain.value());
  Node& node = graph_.add_node(Op::kFused, {&operand}, 1, before);
  node.set(attributes::Fused::body, GraphRef{body.id()});
  node.placement.engine = EngineId::kAicore;
  node.placement.kernel = id;
  node.output().set_type(chain.value().type_id());
  node.output().set_name(name);
  return known = &node.output();
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
    for (Value* input : contraction.body->inputs()) {
      const bool is_used =
          std::any_of(input->uses().begin(), input->uses().end(),
                      [](const Use& use) { return is_read(*use.node, use.input); });
      if (is_used) add(input);
    }
    return;
  }
  for (size_t i = 0; i < plain.input_count(); ++i) {
    if (!is_read(plain, i)) continue;
    const bool lies_inside = plain.input(i)->is_constant() && !plain.input(i)->is_input();
    if (!lies_inside) add(plain.input(i));
  }
}

Node& Lowering::replace(const Contraction& contraction, std::vector<Operand> operands,
                        KernelId kernel) {
  add_unread(contraction, operands);
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
  Node& node = graph_.add_node(Op::kFused, inputs, 1, &old);
  node.set(attributes::Fused::body, GraphRef{body.id()});
  node.set(attributes::Fused::anchor,
           anchor_index(body, *values.at(&contraction.anchor->output())));
  node.set_name(old.name());
  node.set_origins(old.origins());
  node.placement = old.placement;
  node.placement.engine = EngineId::kAicore;
  node.placement.kernel = kernel;
  node.output().set_type(old.output().type_id());
  node.output().set_name(old.output().name());
  graph_.replace_all_uses(old.output(), node.output());
  control_.transfer({&old}, {&node});
  graph_.erase_node(old);
  return node;
}

}  // namespace sluice
