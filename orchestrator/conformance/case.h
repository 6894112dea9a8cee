// Test cases on disk, and their results.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct DataSet {
  std::vector<std::string> inputs;   // input_0.pb, input_1.pb, …: paths
  std::vector<std::string> outputs;  // output_0.pb, …
};

struct Case {
  std::string name;  // path below the folder searched; "." when that folder is the case
  std::string folder;
  std::vector<DataSet> data;  // by the number of the set; may be empty
};

// Returns every folder below `root`, itself included, that contains a model.onnx; sorted by name.
// Errors: kNotFound.
Result<std::vector<Case>> find_cases(const std::string& root);

enum class Verdict { kPass, kFail, kUnsupported, kCrash };
inline constexpr int kVerdictCount = 4;
const char* verdict_name(Verdict verdict);

struct CaseResult {
  Verdict verdict = Verdict::kPass;
  std::string reason;                          // empty when it passed
  std::optional<double> max_error;             // over all outputs compared
  std::optional<double> max_ulp;               // the same in units in the last place
  std::map<std::string, std::string> engines;  // by the name of the model's node
  std::map<std::string, std::string> ops;      // the same; of a fused node "Fused(Conv)"
  double ms = 0;                               // all processes and comparisons
  bool is_float = false;                       // an input or output is a tensor of floats
};

}  // namespace sluice
