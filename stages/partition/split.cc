#include "stages/partition/split.h"

#include <set>

#include "common/base/files.h"
#include "common/graphfile/graphfile.h"
#include "common/graphfile/header.h"
#include "common/ir/clone.h"
#include "common/ops/attributes.h"
#include "common/stage/rebind.h"
#include "common/stage/run_stage.h"

namespace sluice {
namespace {

Module extract(const Graph& graph) {
  Module module;
  // It is the root of its own file; its engine distinguishes it from a model.
  ModuleMapper(graph.module(), module).clone(graph).role = GraphRole::kRoot;
  module.level = Level::kPartitioned;
  module.last_stage = StageId::kPartition;
  module.options = graph.module().options;
  return module;
}

Result<void> split_calls(Graph& graph, const std::string& folder, std::set<Digest>& written) {
  for (Node& node : graph.nodes()) {
    Graph* callee = called_graph(node);
    if (callee == nullptr) continue;
    if (callee->role == GraphRole::kPart) {
      SLUICE_TRY(split_calls(*callee, folder, written));
      continue;
    }
    Module module = extract(*callee);
    SLUICE_ASSIGN(const Digest digest, structure_digest(module));
    const std::string name = digest_hex(digest);
    node.remove(attributes::Call::graph);
    node.set(attributes::Call::subgraph, name);
    module.root().set_name(name);  // how sluice-build finds what was lowered from this file
    if (written.insert(digest).second)
      SLUICE_TRY(write_graph_file(module, fmt::format("{}/{}.sg", folder, name.substr(0, 16))));
  }
  return {};
}

}  // namespace

Result<bool> split_partitioned(const StageArgs& args) {
  if (args.options.text("split").empty() || args.input == "-") return false;
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(args.input));
  const auto header = parse_graph_header(file.bytes());
  if (!header || header->level != static_cast<uint8_t>(Level::kPartitioned)) return false;
  SLUICE_ASSIGN(Module module, read_stage_graph(Level::kPartitioned, args.input));
  SLUICE_TRY(find_constants(module, args.options.text("store"), args.options.text("model")));
  SLUICE_TRY(write_partitioned(module, args));
  return true;
}

Result<void> write_partitioned(Module& module, const StageArgs& args) {
  const std::string folder = args.options.text("split");
  if (folder.empty()) return write_graph_output(module, args);
  SLUICE_TRY(make_directories(folder));
  std::set<Digest> written;
  SLUICE_TRY(split_calls(module.root(), folder, written));
  module.erase_unowned();
  return write_graph_file(module, folder + "/root.sg", write_graph_options(args.options));
}

}  // namespace sluice
