// Runs a graph of any level through the reference evaluator, from files to files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

struct EvalRequest {
  std::vector<std::string> bindings;    // NAME=FILE, or FILE.npz
  std::optional<uint64_t> random;       // seed for inputs without file
  std::map<std::string, int64_t> dims;  // sizes of these open dims; 1 for others
  std::string output_dir;               // empty: only the summary
  std::string dump_dir;                 // empty: nothing is dumped
};

// Evaluates the root; writes each output, and each intermediate value, as DIR/NAME.npy. Sequences
// are NAME.0.npy, NAME.1.npy, … Returns a line per output for people: name, type, range. Errors:
// kBadBinding for inputs that are missing, unknown, bound twice, or of another type; those of the
// evaluator.
Result<std::string> evaluate_to_files(const Module& module, const EvalRequest& request);

}  // namespace sluice
