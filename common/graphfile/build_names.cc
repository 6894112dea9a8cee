#include "common/base/work.h"
#include "common/graphfile/header.h"
#include "common/graphfile/writer.h"

namespace sluice::graphfile {
namespace {

flatbuffers::Offset<fb::GraphNames> graph_names(flatbuffers::FlatBufferBuilder& builder,
                                                const Graph& graph,
                                                const std::vector<int32_t>& onnx_ids) {
  TextRun values, nodes, notes;
  std::vector<uint32_t> ends, origins;
  for (const Value& value : graph.values()) values.add(value.name());
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    nodes.add(node.name());
    for (const uint32_t origin : node.origins())
      origins.push_back(static_cast<uint32_t>(onnx_ids[origin]));
    ends.push_back(static_cast<uint32_t>(origins.size()));
  }
  if (origins.empty()) ends.clear();
  for (const std::string& note : graph.notes) notes.add(note);
  const auto notes_offset = graph.notes.empty() ? 0 : notes.build(builder);
  const auto values_offset = values.build(builder);
  const auto nodes_offset = nodes.build(builder);
  const auto ends_offset = builder.CreateVector(ends);
  return fb::CreateGraphNames(builder, values_offset, nodes_offset, ends_offset,
                              builder.CreateVector(origins), notes_offset);
}

// Origins are sorted by number, so the remaining ones keep their order.
std::vector<int32_t> used_onnx_nodes(const Module& module, TextRun& names) {
  std::vector<int32_t> ids(module.onnx_node_count(), -1);
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    for (const Node& node : module.graph(id).nodes()) {
      for (const uint32_t origin : node.origins()) ids[origin] = 0;
    }
  }
  int32_t next = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) continue;
    ids[i] = next++;
    names.add(module.onnx_node(static_cast<uint32_t>(i)));
  }
  return ids;
}

}  // namespace

flatbuffers::DetachedBuffer build_names_buffer(const Module& module, const Mentioned& mentioned) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  TextRun onnx_nodes, names, symbols, option_names, option_values, passes, requirements;
  const std::vector<int32_t> onnx_ids = used_onnx_nodes(module, onnx_nodes);
  std::vector<flatbuffers::Offset<fb::GraphNames>> graphs;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    graphs.push_back(graph_names(builder, module.graph(id), onnx_ids));
    names.add(module.graph(id).name());
  }
  for (const int32_t id : mentioned.symbols.order())
    symbols.add(module.expressions.symbol(id).name);
  add_options(module, OptionUse::kRead, option_names, option_values);
  std::vector<fb::Digest> made_from;
  for (const Digest& digest : module.made_from) made_from.emplace_back(digest.bytes);
  const auto version = builder.CreateString(version_text());
  const auto made_from_offset = builder.CreateVectorOfStructs(made_from);
  const auto option_names_offset = option_names.build(builder);
  const auto option_values_offset = option_values.build(builder);
  for (const std::string& pass : module.passes) passes.add(pass);
  const auto passes_offset = passes.build(builder);
  for (const Requirement& each : module.requirements.rows()) requirements.add(each.words);
  const auto requirements_offset =
      module.requirements.rows().empty() ? 0 : requirements.build(builder);
  const auto producer = builder.CreateString(module.producer);
  const auto names_offset = names.build(builder);
  const auto graphs_offset = builder.CreateVector(graphs);
  const auto symbols_offset = symbols.build(builder);
  const auto onnx_offset = onnx_nodes.build(builder);
  builder.Finish(fb::CreateNames(builder, version, made_from_offset, option_names_offset,
                                 option_values_offset, producer, names_offset, graphs_offset,
                                 symbols_offset, onnx_offset, passes_offset,
                                 static_cast<uint32_t>(module.passes_done), requirements_offset));
  return builder.Release();
}

}  // namespace sluice::graphfile
