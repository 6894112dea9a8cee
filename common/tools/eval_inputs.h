// Inputs of a graph from files and random numbers. Internal to sluice-eval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"
#include "common/ir/module.h"

namespace sluice {

class EvalInputs {
 public:
  explicit EvalInputs(const Graph& graph);
  Result<void> bind(const std::string& binding);  // NAME=FILE, or FILE.npz
  // One tensor for each input that is not bound to a constant; missing ones by seed, with the same numbers that sluice-loader uses.
  Result<std::vector<Tensor>> finish(const std::optional<uint64_t>& seed);

 private:
  std::vector<std::string> names() const;
  Result<void> take(size_t index, Tensor tensor);
  Result<void> invent(size_t index, const std::optional<uint64_t>& seed);

  const Module& module_;
  std::vector<const Value*> values_;
  std::vector<std::optional<Tensor>> tensors_;
};

}  // namespace sluice
