#include "common/tools/reduce/types.h"

#include <unistd.h>

#include <algorithm>
#include <climits>

#include "common/base/files.h"
#include "common/graphfile/graphfile.h"
#include "common/tools/reduce/command.h"

namespace sluice {
namespace {

using onnx::ModelProto;
using onnx::TypeProto;

constexpr double kSeconds = 600;

std::string preprocess_program() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  const std::string_view own(path, length < 0 ? 0 : static_cast<size_t>(length));
  const std::string beside = std::string(own.substr(0, own.rfind('/') + 1)) + "sluice-preprocess";
  return access(beside.c_str(), X_OK) == 0 ? beside : "sluice-preprocess";
}

std::optional<TypeProto> proto_of(const Module& module, const Type& type) {
  TypeProto proto;
  if (type.kind == TypeKind::kTensor && type.dtype != DType::kUndefined) {
    auto& tensor = *proto.mutable_tensor_type();
    tensor.set_elem_type(static_cast<int>(type.dtype));
    if (type.ranked) tensor.mutable_shape();
    for (const Dim& dim : type.dims) {
      auto& to = *tensor.mutable_shape()->add_dim();
      if (dim.is_fixed()) to.set_dim_value(dim.value);
      if (dim.is_expression())
        to.set_dim_param(module.expressions.text(static_cast<ExpressionId>(dim.value)));
    }
    return proto;
  }
  if (type.kind != TypeKind::kSequence && type.kind != TypeKind::kOptional &&
      type.kind != TypeKind::kMap)
    return std::nullopt;
  const auto element = proto_of(module, module.type(type.element));
  if (!element) return std::nullopt;
  if (type.kind == TypeKind::kMap) {
    proto.mutable_map_type()->set_key_type(static_cast<int>(type.dtype));
    *proto.mutable_map_type()->mutable_value_type() = *element;
    return proto;
  }
  *(type.kind == TypeKind::kSequence ? proto.mutable_sequence_type()->mutable_elem_type()
                                     : proto.mutable_optional_type()->mutable_elem_type()) =
      *element;
  return proto;
}

void add_type(Types& types, const std::string& name, const std::optional<TypeProto>& type) {
  if (!name.empty() && type) types.emplace(name, *type);
}

// Adds the types that the model declares.
void add_declared(const onnx::GraphProto& graph, Types& types) {
  for (const auto* list : {&graph.input(), &graph.value_info(), &graph.output()}) {
    for (const auto& item : *list) {
      if (item.type().value_case() == TypeProto::kTensorType &&
          item.type().tensor_type().elem_type() != 0)
        add_type(types, item.name(), item.type());
    }
  }
  for (const auto& tensor : graph.initializer()) {
    TypeProto type;
    type.mutable_tensor_type()->set_elem_type(tensor.data_type());
    type.mutable_tensor_type()->mutable_shape();
    for (const int64_t dim : tensor.dims())
      type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
    add_type(types, tensor.name(), type);
  }
}

// Returns a copy in which every value of the model's graph is an output: none is folded away, and
// the order of the outputs identifies them.
ModelProto with_all_outputs(const ModelProto& model, int nodes, std::vector<std::string>& names) {
  ModelProto all = model;
  auto& graph = *all.mutable_graph();
  graph.mutable_node()->DeleteSubrange(nodes, graph.node_size() - nodes);
  graph.clear_output();
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.output()) {
      if (name.empty()) continue;
      names.push_back(name);
      graph.add_output()->set_name(name);
    }
  }
  return all;
}

void add_inferred(const Module& module, const std::vector<std::string>& names, Types& types) {
  const auto& outputs = module.root().outputs();
  for (size_t i = 0; i < std::min(names.size(), outputs.size()); ++i)
    add_type(types, names[i], proto_of(module, outputs[i]->type()));
  for (GraphId id = 1; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (const Value& value : module.graph(id).values()) {
      if (!value.is_erased()) add_type(types, value.name(), proto_of(module, value.type()));
    }
  }
}

// Returns the types of the first `nodes` nodes and of their bodies, or nothing when they are
// rejected.
Result<std::optional<Types>> types_of_first(const ModelProto& model, int nodes,
                                            const std::string& scratch) {
  std::vector<std::string> names;
  const ModelProto all = with_all_outputs(model, nodes, names);
  const std::string in = scratch + "/types.onnx", out = scratch + "/types.sg";
  SLUICE_TRY(write_text(in, all.SerializeAsString()));
  const std::string program = preprocess_program();
  SLUICE_ASSIGN(const Ending ending,
                run_command({program, "--stop-after=infer-types", in, "-o", out}, kSeconds));
  if (ending.code == 127)
    return make_error(ErrorCode::kProgramMissing, "'{}' cannot be started", program);
  if (ending.code != 0 || ending.signal != 0 || ending.timed_out) return std::optional<Types>();
  SLUICE_ASSIGN(const Module module, read_graph_file(out));
  Types types;
  add_inferred(module, names, types);
  return std::optional<Types>(std::move(types));
}

// Removes the type of a name that several values in parallel branches share.
Types finished(const ModelProto& model, Types types) {
  add_declared(model.graph(), types);
  for (const GraphPath& path : graph_paths(model)) {
    if (!path.empty()) add_declared(graph_at(model, path), types);
  }
  for (const auto& [name, count] : definitions(model)) {
    if (count > 1) types.erase(name);
  }
  return types;
}

}  // namespace

Result<std::optional<Types>> types_of_valid(const ModelProto& model, const std::string& scratch) {
  SLUICE_ASSIGN(std::optional<Types> types,
                types_of_first(model, model.graph().node_size(), scratch));
  if (!types) return std::optional<Types>();
  return std::optional<Types>(finished(model, std::move(*types)));
}

Result<Inferred> infer_types(const ModelProto& model, const std::string& scratch) {
  SLUICE_ASSIGN(std::optional<Types> types, types_of_valid(model, scratch));
  if (types) return Inferred{std::move(*types), true};
  Inferred inferred{{}, false};
  int good = 0, bad = model.graph().node_size();  // numbers of nodes that are accepted and rejected
  while (bad - good > 1) {
    const int middle = good + (bad - good) / 2;
    SLUICE_ASSIGN(types, types_of_first(model, middle, scratch));
    (types ? good : bad) = middle;
    if (types) inferred.types = std::move(*types);
  }
  inferred.types = finished(model, std::move(inferred.types));
  return inferred;
}

}  // namespace sluice
