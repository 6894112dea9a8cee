// Kernels of a compiled model, for --kernels-from: a model of the same structure wants the same
// ones, whatever its constants are, so no code is generated.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/base/result.h"
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

 private:
  std::string path_;
  OmFile file_;
  std::map<std::string, int> by_entry_;  // index into ModelDef.kernels
};

}  // namespace sluice
