#include "common/tools/show_loops.h"

#include <fnmatch.h>

#include "common/base/readable_text.h"
#include "common/loop/lowering.h"
#include "common/ops/infer.h"
#include "common/ops/view.h"
#include "common/target/kernel_specification.h"
#include "common/target/resolve_profile.h"

namespace sluice {
namespace {

std::string option_of(const Module& module, const std::string& name, std::string_view otherwise) {
  const auto found = module.options.find(name);
  return found == module.options.end() ? std::string(otherwise) : found->second;
}

bool is_shown(const Node& node, const std::string& glob) {
  const std::string& name = node.name().empty() ? node.output().name() : node.name();
  return !is_view(node) && ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

Result<std::string> node_loops_text(const Node& node, const DeviceProfile& profile,
                                    MathPrecision math) {
  std::string text = "# " + readable_text(node.label());
  if (node.placement.kernel >= 0)
    text += ", kernel " + node.graph().module().kernel(node.placement.kernel).entry;
  SLUICE_ASSIGN(const loop::LoweredNode lowered, loop::lower_node(node));
  return text + "\n" + specification_text(lowered.graph, profile, math);
}

}  // namespace

Result<std::string> loops_text(Module& module, const std::string& glob) {
  if (module.level != Level::kPartitioned && module.level != Level::kLowered) {
    return make_error(ErrorCode::kWrongLevel,
                      "--loops needs level 'partitioned' or 'lowered', got '{}'",
                      level_name(module.level));
  }
  SLUICE_ASSIGN(const DeviceProfile profile, profile_of(module));
  const auto math = math_precision_from_name(option_of(module, "math", "default"));
  if (!math) return make_error(ErrorCode::kBadFile, "the file carries an unknown option 'math'");
  std::string text;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id) || module.graph(id).engine != intern_engine("vector")) continue;
    Graph& graph = module.graph(id);
    ValueFacts facts(graph);
    SLUICE_TRY(infer_graph(graph, facts));
    for (const Node& node : graph.nodes()) {
      if (!is_shown(node, glob)) continue;
      SLUICE_ASSIGN(const std::string own, node_loops_text(node, profile, *math));
      text += (text.empty() ? "" : "\n") + own;
    }
  }
  if (!text.empty()) return text;
  if (glob == "*") return make_error(ErrorCode::kBadOption, "no node is of the engine vector");
  return make_error(ErrorCode::kBadOption, "no node of the engine vector has a name that fits '{}'",
                    glob);
}

}  // namespace sluice
