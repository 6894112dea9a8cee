// Finds the first pass whose graph gives other values than the graph before it: compares the ends
// of the stages, then searches the passes of the first stage whose end differs.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "orchestrator/compile/stage_options.h"

namespace sluice {

struct BisectRequest {
  std::string input;                  // an ONNX model, or a graph file
  StageOptions options;               // without --quiet and --error-format
  std::vector<std::string> bindings;  // --input of sluice-eval
  std::vector<std::string> sizes;     // --dim of sluice-eval
  std::string seed;                   // --random of sluice-eval
  std::string tolerance;              // of sluice-diff
  std::string store, model;           // empty: not given
  std::string keep;                   // folder for the graphs; empty: none
  bool is_json = false;
  bool quiet = false;
};

// Prints what is found. Returns the exit code: kFailed for a pass that gives other values or whose
// graph cannot be evaluated, 0 for none. Errors: those of the programs before the first graph is
// evaluated; later those of usage, options and resources.
Result<int> bisect(const BisectRequest& request);

}  // namespace sluice
