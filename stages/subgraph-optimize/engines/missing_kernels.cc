#include "stages/subgraph-optimize/engines/missing_kernels.h"

#include <algorithm>
#include <map>
#include <vector>

#include "common/omfile/om_names.h"
#include "common/omfile/om_types.h"
#include "common/target/aicore.h"
#include "common/text/text.h"
#include "fmt/ranges.h"

namespace sluice {
namespace {

// Returns whether a number of one is not that of the other. Names of open dims do not count.
bool differ(const Type& type, const pb::TypeDef& def) {
  if (!type.is_tensor() || def.kind() != pb::VALUE_TENSOR) return false;
  if (static_cast<uint32_t>(type.dtype) != def.dtype() || type.ranked == def.unranked())
    return true;
  return !std::equal(
      type.dims.begin(), type.dims.end(), def.dims().begin(), def.dims().end(),
      [](const Dim& dim, int64_t other) { return (dim.is_fixed() ? dim.value : -1) == other; });
}

// Returns the type as messages about a compiled model write it.
std::string om_type_text(const Module& module, const Type& type) {
  pb::ModelDef model;
  pb::TypeDef& def = *model.add_types();
  def.set_dtype(static_cast<uint32_t>(type.dtype));
  def.set_unranked(!type.ranked);
  for (const Dim& dim : type.dims) {
    def.add_dims(dim.is_fixed() ? dim.value : -1);
    def.add_dim_names(dim.is_fixed() ? std::string() : print_dim(module, dim));
  }
  return type_text(model, 0);
}

std::vector<const Value*> values_of(const Node& node) {
  std::vector<const Value*> values;
  for (size_t k = 0; k < node.output_count(); ++k) values.push_back(&node.output(k));
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input(i) != nullptr) values.push_back(node.input(i));
  return values;
}

// Returns the names of the user's ONNX nodes.
std::vector<std::string> origins_of(const Node& node) {
  std::vector<std::string> names;
  for (const uint32_t origin : node.origins())
    names.push_back(node.graph().module().onnx_node(origin));
  return names;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

// Returns "'conv1', 'relu1'".
std::string quoted_names(const std::vector<std::string>& names) {
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

// The nodes and values of a compiled model, by name.
class NamedFacts {
 public:
  explicit NamedFacts(const ModelKernels& kernels)
      : model_(kernels.model()), path_(kernels.path()), names_(model_) {
    for (uint32_t node = 0; node < model_.nodes(); ++node) nodes_.emplace(names_[node], node);
    for (const pb::PartDef& part : model_.parts()) {
      const ValueNames values(part.fixed());
      for (int v = 0; v < part.fixed().value_type_size(); ++v)
        types_.emplace(values[static_cast<uint32_t>(v)], part.fixed().value_type(v));
    }
  }

  // Returns "input 'x' is f32 1x4, in 'base.om' f32 1x3" for the first that differs, or nothing.
  std::string other_binding(const Module& module) const {
    if (module.root().engine != EngineId::kNone) return {};  // a subgraph has inputs of its own
    std::vector<const Value*> inputs;
    for (const Value* input : module.root().inputs())
      if (!input->is_constant()) inputs.push_back(input);
    const std::string text = other_binding(module, "input", inputs, model_.inputs());
    if (!text.empty()) return text;
    const std::vector<Value*>& outputs = module.root().outputs();
    return other_binding(module, "output", {outputs.begin(), outputs.end()}, model_.outputs());
  }

  // Returns how a node, whose kernel is not there, differs.
  std::string difference(const Node& node) const {
    const std::string& name = name_text(node);
    const auto known = nodes_.find(name);
    if (!name.empty() && known == nodes_.end()) return "it has no such node";
    const std::vector<std::string> origins =
        known == nodes_.end() ? std::vector<std::string>() : sorted(names_.origins(known->second));
    if (!origins.empty() && origins != sorted(origins_of(node)))
      return "there it is made of " + quoted_names(origins);
    for (const Value* value : values_of(node)) {
      const auto found = types_.find(value->name());
      if (found == types_.end()) continue;
      if (differ(value->type(), model_.types(static_cast<int>(found->second))))
        return fmt::format("'{}' is {}, there {}", value->name(),
                           om_type_text(node.graph().module(), value->type()),
                           type_text(model_, found->second));
    }
    return "a size, an attribute or a constant that is part of its code is another one there";
  }

 private:
  std::string other_binding(const Module& module, std::string_view kind,
                            const std::vector<const Value*>& values,
                            const google::protobuf::RepeatedPtrField<pb::BindingDef>& defs) const {
    const size_t count = std::min(values.size(), static_cast<size_t>(defs.size()));
    for (size_t i = 0; i < count; ++i) {
      const pb::BindingDef& def = defs[static_cast<int>(i)];
      if (values[i]->name() != def.name())
        return fmt::format("{} {} is '{}', in '{}' '{}'", kind, i, values[i]->name(), path_,
                           def.name());
      if (differ(values[i]->type(), model_.types(static_cast<int>(def.type()))))
        return fmt::format("{} '{}' is {}, in '{}' {}", kind, def.name(),
                           om_type_text(module, values[i]->type()), path_,
                           type_text(model_, def.type()));
    }
    if (values.size() == static_cast<size_t>(defs.size())) return {};
    return fmt::format("there are {} {}s, in '{}' {}", values.size(), kind, path_, defs.size());
  }

  const pb::ModelDef& model_;
  const std::string& path_;
  const NodeNames names_;
  std::map<std::string, uint32_t> nodes_;
  std::map<std::string, uint32_t> types_;
};

// Returns "node 'conv1' (Fused(Conv)) of 'conv1', 'relu1'".
std::string shown(const Node& node) {
  const std::string text = fmt::format("node '{}' ({})", name_text(node), op_text(node));
  return node.origins().size() < 2 ? text : text + " of " + quoted_names(origins_of(node));
}

std::vector<const Node*> nodes_that_name(const Module& module,
                                         const std::set<std::string>& entries) {
  std::vector<const Node*> nodes;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (const Node& node : module.graph(id).nodes()) {
      const KernelId kernel = node.placement.kernel;
      if (kernel >= 0 && entries.contains(module.kernel(kernel).entry)) nodes.push_back(&node);
    }
  }
  return nodes;
}

}  // namespace

Result<void> check_missing(const Module& module, const std::set<std::string>& entries,
                           const ModelKernels& kernels) {
  if (entries.empty()) return {};
  const std::vector<const Node*> nodes = nodes_that_name(module, entries);
  if (nodes.empty()) return {};
  const NamedFacts facts(kernels);
  const std::string other = facts.other_binding(module);
  std::string text = other.empty() ? "" : other + "; ";
  text += fmt::format("'{}' does not have the kernels that these nodes need:", kernels.path());
  for (const Node* node : nodes)
    text += fmt::format("\n  {}: {}", shown(*node), facts.difference(*node));
  return make_error(ErrorCode::kNoKernel, "{}", text)
      .with_hint(
          "compile the model: kernels of an earlier one serve other weights, but no other nodes, "
          "sizes or attributes");
}

}  // namespace sluice
