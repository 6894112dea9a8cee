// The main function of every stage: arguments, reading, level check, run, verification, writing,
// statistics, exit code. Exceptions of docopt are caught here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"

namespace sluice {

struct StageArgs {
  Options options;                       // the command line, then the file's semantic options
  std::string input;                     // <in>, "-" for standard input
  std::vector<std::string> more_inputs;  // sluice-build: subgraph files after root.sg
  std::string output;                    // -o
  // Run functions append the result of run_passes; read and write functions append their additional
  // work (WorkReport).
  std::vector<PassReport>* report = nullptr;
};

struct Stage {
  StageId id;
  Level accepts;   // level of the graph read; ignored when read is set
  Level produces;  // level of the graph written; ignored when write is set
  Result<Module> (*run)(Module module, const StageArgs& args);
  std::span<const Pass> passes;  // for --list-passes
  // preprocess reads an ONNX model; partition may write several files, build writes a compiled
  // model; null: a .sg file.
  Result<Module> (*read)(const StageArgs& args) = nullptr;
  Result<void> (*write)(Module& module, const StageArgs& args) = nullptr;
  // Other work that an option asks for: returns true when it was done, and nothing else is then;
  // null: there is none.
  Result<bool> (*instead)(const StageArgs& args) = nullptr;
};

std::string stage_program(StageId stage);  // "sluice-optimize"

// Checks the level of what a stage made. Error: kInternal, unless passes were chosen by the user.
Result<void> verify_result(const Module& module, const Options& options);
// Writes the output of a stage without `write`: compacts, verifies, writes the graph to -o.
Result<void> write_graph_output(Module& module, const StageArgs& args);

// Returns the process's exit code. Ignores SIGPIPE, prints one error, and never writes binary to a
// terminal.
int stage_main(int argc, char** argv, const char* usage, const Stage& stage);

}  // namespace sluice
