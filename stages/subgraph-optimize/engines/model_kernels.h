// Kernels of a compiled model, for --kernels-from: a model of the same structure wants the same
// ones, whatever its constants are, so no code is generated.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/omfile/om_file.h"
#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

// Threads may use one at the same time.
class ModelKernels {
 public:
  // An empty path is a model that has no kernels. Errors: those of reading a compiled model;
  // kBadCompiledModel when another release made it.
  static Result<ModelKernels> open(const std::string& path);

  bool is_used() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  const pb::ModelDef& model() const { return *file_.model; }  // of one that is used
  // Returns the kernel of a specification. Its bytes have been compared with their digest.
  std::optional<GeneratedKernel> find(const std::string& specification) const;
  // Returns whether the model need not have the kernel of a node, whatever the constants are: it
  // may have taken the task from a node that moves data, and it runs others by the reference
  // kernels.
  bool need_not_have_kernel_of(const Node& node) const;

 private:
  std::string path_;
  OmFile file_;
  std::map<std::string, int> by_entry_;  // index into ModelDef.kernels
  std::set<std::string> on_host_;        // names of nodes
};

}  // namespace sluice
