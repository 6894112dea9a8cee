// The nodes that --disable-reuse-memory names.
#pragma once

#include <string>
#include <vector>

#include "common/base/options.h"
#include "common/ir/graph.h"

namespace sluice {

// Nodes by globs (fnmatch(3)) of their names, of the user's nodes that they came from, and of ops.
class NoReuse {
 public:
  explicit NoReuse(const Options& options);

  // Returns whether the memory of the node's results is for nothing else.
  bool contains(const Node& node) const;
  bool is_empty() const { return globs_.empty(); }
  // Returns the globs that fit none of the nodes of these graphs.
  std::vector<std::string> unused(const std::vector<Graph*>& graphs) const;

 private:
  std::vector<std::string> globs_;
};

}  // namespace sluice
