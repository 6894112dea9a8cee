// What the options say about the dtype that a node computes in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/ir/precision.h"
#include "stages/optimize/precision/half_tolerance.h"

namespace sluice {

struct PrecisionPreference {
  DType dtype = DType::kUndefined;
  bool follows = false;  // only where the node reads values of this dtype
};

// Of several that speak of a node, the last line of --customize-dtypes wins, then its annotation,
// then --precision-mode.
class PrecisionPolicy {
 public:
  // Errors: kBadOption.
  static Result<PrecisionPolicy> from(const Options& options);

  // Returns whether only annotations can change a node.
  bool is_idle() const { return mode_ == Mode::kKeep && lines_.empty(); }
  // Returns the preference for a node of the model that computes in f32, f16 or bf16. Costs the
  // number of lines of --customize-dtypes.
  PrecisionPreference preference(const Node& node, DType dtype);
  std::vector<std::string> unmatched_lines() const;

 private:
  enum class Mode : uint8_t { kKeep, kForce, kMix };
  struct Line {
    std::string glob;
    bool is_of_op = false;
    Precision precision = Precision::kNone;
    bool matched = false;
  };

  Result<void> take_mode(const std::string& mode);
  Result<void> take_lists(const Options& options);
  Result<void> take_lines(const Options& options);
  Precision precision_of(const Node& node);
  PrecisionPreference mixed(const Node& node, DType dtype) const;

  Mode mode_ = Mode::kKeep;
  DType dtype_ = DType::kUndefined;    // of kForce and kMix
  std::map<Op, HalfTolerance> lists_;  // changes of the table
  std::vector<Line> lines_;
};

}  // namespace sluice
