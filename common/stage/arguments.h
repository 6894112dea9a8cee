// From argv to StageArgs: docopt, whose exceptions end here, and the split of semantic options that
// travel in files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/stage/stage_main.h"

namespace sluice {

struct ParsedArguments {
  StageArgs args;
  std::string print;  // --help or --version: print this and stop
  bool list_passes = false;
  std::optional<Error>
      wrong;  // an option whose value cannot be: told once the input has been looked at
};

// usage: docopt text with what the stage is for, its usages and the options of its own; those of
// every stage are added here. Every "--name" must be a row of the option table, but for --help,
// --version and --list-passes.
Result<ParsedArguments> parse_arguments(int argc, char** argv, StageId stage,
                                        std::string_view usage);

// The values of a repeatable option as the option table keeps them: sorted, joined by ";".
std::string joined_values(std::vector<std::string> values);

// The semantic options that travel in a file: as named in the option table; those that speak of one
// stage's passes are prefixed, "optimize.skip".
Result<void> inherit_options(Options& options, StageId stage,
                             const std::map<std::string, std::string>& travelling);
void export_options(const Options& options, StageId stage,
                    std::map<std::string, std::string>& travelling);

}  // namespace sluice
