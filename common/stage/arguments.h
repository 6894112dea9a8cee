// Parses argv to StageArgs: catches the exceptions of docopt, and separates the semantic options
// that travel in files.
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
  // An option with an impossible value; reported after the input has been checked.
  std::optional<Error> wrong;
};

// usage is docopt text with the purpose of the stage, its usages and its own options; those of
// every stage are added here. Every "--name" must be a row of the option table, except --help,
// --version and --list-passes.
Result<ParsedArguments> parse_arguments(int argc, char** argv, StageId stage,
                                        std::string_view usage);

// Returns the values of a repeatable option as the option table stores them: sorted, joined by ";".
std::string joined_values(std::vector<std::string> values);

// Converts the semantic options that travel in a file: their names are those of the option table;
// those that refer to one stage's passes have a prefix, "optimize.skip".
Result<void> inherit_options(Options& options, StageId stage,
                             const std::map<std::string, std::string>& travelling);
void export_options(const Options& options, StageId stage,
                    std::map<std::string, std::string>& travelling);

}  // namespace sluice
