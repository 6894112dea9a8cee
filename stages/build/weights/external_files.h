// Writes the constants that --external-weight puts into files beside the compiled model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/omfile/om_writer.h"
#include "common/stage/stage_main.h"
#include "stages/build/weights/combined_weights.h"
#include "stages/build/weights/layout_weights.h"
#include "stages/build/weights/shared_weights.h"

namespace sluice {

// Returns kUsage when the files have no folder: the compiled model goes to standard output or to a
// device, and --weights-beside says no other name.
Result<void> check_external_files(const StageArgs& args);

class ExternalFiles {
 public:
  // Files that were made are removed with it, unless keep() was called.
  ExternalFiles(const Module& module, const WeightLayout& layout, const StageArgs& args)
      : module_(module), layout_(layout), args_(args) {}

  // What write_om calls. Errors of stream_weights; kBadOption where a service may not write; kIo.
  OmFiles files();
  void keep() {
    if (shared_) shared_->keep();
  }

 private:
  Result<void> open();
  Result<void> write(pb::ModelDef& model);
  Result<void> add(bool begins, std::span<const std::byte> bytes);
  Result<void> commit() { return combined_ ? combined_->commit() : Result<void>(); }

  const Module& module_;
  const WeightLayout& layout_;
  const StageArgs& args_;
  std::optional<SharedWeights> shared_;  // one of the two
  std::optional<CombinedWeights> combined_;
};

}  // namespace sluice
