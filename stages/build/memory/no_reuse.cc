#include "stages/build/memory/no_reuse.h"

#include <fnmatch.h>

#include <algorithm>

#include "common/ir/module.h"

namespace sluice {

NoReuse::NoReuse(const Options& options) {
  const std::string text = options.text("disable-reuse-memory");
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) globs_.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool NoReuse::contains(const Node& node) const {
  const auto fits = [](const std::string& glob, const std::string& name) {
    return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  };
  const Module& module = node.graph().module();
  return std::ranges::any_of(globs_, [&](const std::string& glob) {
    return fits(glob, node.name()) || fits(glob, std::string(op_name(node.op()))) ||
           std::ranges::any_of(node.origins(), [&](uint32_t origin) {
             return fits(glob, module.onnx_node(origin));
           });
  });
}

}  // namespace sluice
