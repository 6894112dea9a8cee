#include "stages/build/memory/no_reuse.h"

#include <fnmatch.h>

#include <algorithm>

#include "common/ir/module.h"

namespace sluice {
namespace {

bool fits(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

bool fits_node(const std::string& glob, const Node& node) {
  const Module& module = node.graph().module();
  return fits(glob, node.name()) || fits(glob, std::string(op_name(node.op()))) ||
         std::ranges::any_of(node.origins(),
                             [&](uint32_t origin) { return fits(glob, module.onnx_node(origin)); });
}

}  // namespace

NoReuse::NoReuse(const Options& options) {
  const std::string text = options.text("disable-reuse-memory");
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) globs_.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool NoReuse::contains(const Node& node) const {
  return std::ranges::any_of(globs_,
                             [&](const std::string& glob) { return fits_node(glob, node); });
}

std::vector<std::string> NoReuse::unused(const std::vector<Graph*>& graphs) const {
  std::vector<std::string> unused;
  for (const std::string& glob : globs_) {
    const bool is_used = std::ranges::any_of(graphs, [&](const Graph* graph) {
      return std::ranges::any_of(graph->nodes(),
                                 [&](const Node& node) { return fits_node(glob, node); });
    });
    if (!is_used) unused.push_back(glob);
  }
  return unused;
}

}  // namespace sluice
