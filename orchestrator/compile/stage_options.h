// The options on a command line that are for the stages: of sluice-compile, and of sluice-check,
// which shows what a compile will do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/command_line.h"
#include "common/base/result.h"

namespace sluice {

struct StageOptions {
  std::vector<std::string> semantic;  // arguments of the first stage run; options of meaning travel
                                      // in the file from there
  std::vector<std::string> non_semantic;  // for every stage
  std::vector<std::string>
      passes;  // "STAGE:LIST" items, several joined by ';': exactly these passes of that stage
  std::vector<std::string> skip;  // the same: leave these out
  // Arguments of the stages that read rules: --rules=FILE, in order, and --unchecked-rules.
  std::vector<std::string> rules;
  // --pass=POINT=FILE, in order, for the stages of the points; limits go with them.
  std::vector<std::string> own_passes, own_pass_limits;
};

// Returns the options of the usage text. Errors: kBadOption.
Result<StageOptions> stage_options(const CommandLine& line);

// Both return the semantic arguments of each stage that runs, passes included: what its product
// depends on besides its input. Early: all options are for the first stage, from where they travel.
// Late, for a compile up to the last stage: each option is for the stage that reads it first, or
// the first one that runs. Errors: kBadOption for passes of a stage that does not run.
Result<std::vector<std::vector<std::string>>> early_arguments(const StageOptions& options,
                                                              size_t first, size_t last);
Result<std::vector<std::vector<std::string>>> late_arguments(const StageOptions& options,
                                                             size_t first);

// Adds the limits of passes of users, which are in no key, to the arguments of a stage that has
// such passes.
void add_pass_limits(const StageOptions& options, std::vector<std::string>& arguments);

// Returns the value of a semantic option; empty when it is not given.
std::string option_value(const StageOptions& options, const std::string& name);

// Returns the options as they are typed for sluice-compile.
std::vector<std::string> typed_options(const StageOptions& options);

}  // namespace sluice
