#include "common/tools/reduce/model.h"

#include <algorithm>
#include <filesystem>

#include "common/base/file_kind.h"
#include "common/base/files.h"

namespace sluice {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

constexpr uint64_t kMaxBytes = uint64_t{1800} << 20;  // a protobuf message is limited to 2 GiB

template <typename Visit>
void visit_bodies(const NodeProto& node, const Visit& visit) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const GraphProto& graph : attribute.graphs()) visit(graph);
  }
}

template <typename Visit>
void visit_bodies(NodeProto& node, const Visit& visit) {
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) visit(*attribute.mutable_g());
    for (GraphProto& graph : *attribute.mutable_graphs()) visit(graph);
  }
}

std::set<std::string> defined_in(const GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  for (const NodeProto& node : graph.node())
    names.insert(node.output().begin(), node.output().end());
  return names;
}

std::set<std::string> free_reads(const GraphProto& graph) {
  std::set<std::string> names;
  for (const NodeProto& node : graph.node()) names.merge(reads_of(node));
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const std::string& own : defined_in(graph)) names.erase(own);
  return names;
}

size_t count_nodes_in(const GraphProto& graph) {
  size_t count = static_cast<size_t>(graph.node_size());
  for (const NodeProto& node : graph.node()) {
    visit_bodies(node, [&](const GraphProto& body) { count += count_nodes_in(body); });
  }
  return count;
}

void count_definitions(const GraphProto& graph, std::map<std::string, int>& counts) {
  for (const std::string& name : defined_in(graph)) ++counts[name];
  for (const NodeProto& node : graph.node()) {
    visit_bodies(node, [&](const GraphProto& body) { count_definitions(body, counts); });
  }
}

void collect_paths(const GraphProto& graph, const GraphPath& path, std::vector<GraphPath>& paths) {
  paths.push_back(path);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const GraphPath& inner : bodies_of(graph.node(i), path, i)) {
      const BodyStep& step = inner.back();
      const AttributeProto& attribute = graph.node(i).attribute(step.attribute);
      collect_paths(step.graph < 0 ? attribute.g() : attribute.graphs(step.graph), inner, paths);
    }
  }
}

template <typename List, typename Keep>
void keep_those(List& list, const Keep& keep) {
  int kept = 0;
  for (int i = 0; i < list.size(); ++i) {
    if (keep(list.Get(i))) list.SwapElements(kept++, i);
  }
  list.DeleteSubrange(kept, list.size() - kept);
}

void drop_unread_in(GraphProto& graph, bool is_root) {
  std::set<std::string> read;
  for (const NodeProto& node : graph.node()) read.merge(reads_of(node));
  for (const auto& output : graph.output()) read.insert(output.name());
  const auto is_read = [&](const auto& item) { return read.contains(item.name()); };
  keep_those(*graph.mutable_initializer(), is_read);
  keep_those(*graph.mutable_sparse_initializer(),
             [&](const auto& tensor) { return read.contains(tensor.values().name()); });
  if (is_root) keep_those(*graph.mutable_input(), is_read);
  const std::set<std::string> defined = defined_in(graph);
  keep_those(*graph.mutable_value_info(),
             [&](const auto& item) { return defined.contains(item.name()); });
  for (NodeProto& node : *graph.mutable_node())
    visit_bodies(node, [](GraphProto& body) { drop_unread_in(body, false); });
}

void collect_calls(const GraphProto& graph, std::set<std::string>& calls) {
  for (const NodeProto& node : graph.node()) {
    calls.insert(node.domain() + "/" + node.op_type());
    visit_bodies(node, [&](const GraphProto& body) { collect_calls(body, calls); });
  }
}

void drop_uncalled_functions(ModelProto& model) {
  std::set<std::string> calls;
  collect_calls(model.graph(), calls);
  for (const auto& function : model.functions()) {
    for (const NodeProto& node : function.node())
      calls.insert(node.domain() + "/" + node.op_type());
  }
  keep_those(*model.mutable_functions(), [&](const auto& function) {
    return calls.contains(function.domain() + "/" + function.name());
  });
}

struct ExternalPlace {
  std::string location;
  uint64_t offset = 0, length = UINT64_MAX;
};

ExternalPlace place_of(const TensorProto& tensor) {
  ExternalPlace place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") place.offset = std::strtoull(entry.value().c_str(), nullptr, 10);
    if (entry.key() == "length") place.length = std::strtoull(entry.value().c_str(), nullptr, 10);
  }
  return place;
}

Result<void> take_external(TensorProto& tensor, const std::filesystem::path& folder,
                           uint64_t& total) {
  if (tensor.data_location() != TensorProto::EXTERNAL) return {};
  const ExternalPlace place = place_of(tensor);
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open((folder / place.location).string()));
  const std::span<const std::byte> bytes = file.bytes();
  if (place.offset > bytes.size()) {
    return make_error(ErrorCode::kBadModel,
                      "constant '{}': its data lies at {}, file '{}' has {} bytes", tensor.name(),
                      place.offset, place.location, bytes.size());
  }
  const auto part =
      bytes.subspan(place.offset, std::min<uint64_t>(place.length, bytes.size() - place.offset));
  total += part.size();
  if (total > kMaxBytes) {
    return make_error(ErrorCode::kLimit, "the model has more than {} bytes of external data",
                      kMaxBytes)
        .with_hint("reduce an export of fewer layers, or one with smaller weights");
  }
  tensor.set_raw_data(std::string(reinterpret_cast<const char*>(part.data()), part.size()));
  tensor.clear_external_data();
  tensor.clear_data_location();
  return {};
}

Result<void> take_external_in(GraphProto& graph, const std::filesystem::path& folder,
                              uint64_t& total) {
  for (TensorProto& tensor : *graph.mutable_initializer())
    SLUICE_TRY(take_external(tensor, folder, total));
  for (NodeProto& node : *graph.mutable_node()) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) SLUICE_TRY(take_external(*attribute.mutable_t(), folder, total));
      if (attribute.has_g()) SLUICE_TRY(take_external_in(*attribute.mutable_g(), folder, total));
      for (GraphProto& body : *attribute.mutable_graphs())
        SLUICE_TRY(take_external_in(body, folder, total));
    }
  }
  return {};
}

}  // namespace

GraphProto& graph_at(ModelProto& model, const GraphPath& path) {
  GraphProto* graph = model.mutable_graph();
  for (const BodyStep& step : path) {
    AttributeProto& attribute = *graph->mutable_node(step.node)->mutable_attribute(step.attribute);
    graph = step.graph < 0 ? attribute.mutable_g() : attribute.mutable_graphs(step.graph);
  }
  return *graph;
}

const GraphProto& graph_at(const ModelProto& model, const GraphPath& path) {
  const GraphProto* graph = &model.graph();
  for (const BodyStep& step : path) {
    const AttributeProto& attribute = graph->node(step.node).attribute(step.attribute);
    graph = step.graph < 0 ? &attribute.g() : &attribute.graphs(step.graph);
  }
  return *graph;
}

std::vector<GraphPath> bodies_of(const NodeProto& node, const GraphPath& path, int index) {
  std::vector<GraphPath> bodies;
  const auto add = [&](int attribute, int graph) {
    bodies.push_back(path);
    bodies.back().push_back({index, attribute, graph});
  };
  for (int i = 0; i < node.attribute_size(); ++i) {
    if (node.attribute(i).has_g()) add(i, -1);
    for (int k = 0; k < node.attribute(i).graphs_size(); ++k) add(i, k);
  }
  return bodies;
}

std::vector<GraphPath> graph_paths(const ModelProto& model) {
  std::vector<GraphPath> paths;
  collect_paths(model.graph(), {}, paths);
  return paths;
}

size_t count_nodes(const ModelProto& model) { return count_nodes_in(model.graph()); }

std::set<std::string> reads_of(const NodeProto& node) {
  std::set<std::string> names(node.input().begin(), node.input().end());
  names.erase("");
  visit_bodies(node, [&](const GraphProto& body) { names.merge(free_reads(body)); });
  return names;
}

std::map<std::string, int> definitions(const ModelProto& model) {
  std::map<std::string, int> counts;
  count_definitions(model.graph(), counts);
  return counts;
}

void rename_reads(GraphProto& graph, const std::map<std::string, std::string>& names) {
  const auto renamed = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (NodeProto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) renamed(input);
    visit_bodies(node, [&](GraphProto& body) { rename_reads(body, names); });
  }
  for (auto& output : *graph.mutable_output()) renamed(*output.mutable_name());
}

bool add_input(ModelProto& model, const std::string& name, const Types& types) {
  const auto type = types.find(name);
  if (type == types.end()) return false;
  for (const auto& input : model.graph().input()) {
    if (input.name() == name) return true;
  }
  auto& input = *model.mutable_graph()->add_input();
  input.set_name(name);
  *input.mutable_type() = type->second;
  return true;
}

void drop_unread(ModelProto& model) {
  drop_unread_in(*model.mutable_graph(), true);
  drop_uncalled_functions(model);
}

Result<ModelProto> read_whole_model(const std::string& path) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  ModelProto model;
  const FileKind kind = file_kind(file.bytes());
  const bool may_be = kind == FileKind::kOnnx || kind == FileKind::kUnknown;
  if (!may_be || file.bytes().size() > INT32_MAX ||
      !model.ParseFromArray(file.bytes().data(), static_cast<int>(file.bytes().size())) ||
      !model.has_graph()) {
    Error error = make_error(ErrorCode::kBadModel, "not an ONNX model of at most 2 GiB");
    error.file = path;
    if (!may_be) error.hint = file_kind_hint(file.bytes());
    return error;
  }
  uint64_t total = 0;
  SLUICE_TRY(
      take_external_in(*model.mutable_graph(), std::filesystem::path(path).parent_path(), total));
  return model;
}

}  // namespace sluice
