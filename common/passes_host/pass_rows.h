// The files of --pass as passes of a stage.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"

namespace sluice {

class PassHosts;

// A table of passes with a row for each file of --pass whose point is in this stage, in the order
// of the files, behind the rows of rules of the same point. No process is started before the first
// of them runs.
class PassRows {
 public:
  // Errors: those of reading the files; kBadOption for two rows of one name.
  static Result<PassRows> load(std::span<const Pass> table, StageId stage, const Options& options);
  PassRows(PassRows&&) noexcept;
  PassRows& operator=(PassRows&&) = delete;
  ~PassRows();

  std::span<const Pass> passes() const { return passes_; }

 private:
  struct Entry;
  PassRows();
  std::unique_ptr<PassHosts> hosts_;
  std::vector<std::unique_ptr<Entry>> entries_;  // passes_ refers to them
  std::vector<Pass> passes_;
};

}  // namespace sluice
