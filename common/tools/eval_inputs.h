// Inputs of a graph from files and random numbers. Internal to sluice-eval.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"
#include "common/eval/eval.h"
#include "common/ir/module.h"

namespace sluice {

class EvalInputs {
 public:
  explicit EvalInputs(const Graph& graph);
  Result<void> bind(const std::string& binding);  // NAME=FILE, or FILE.npz
  // Returns one value for each input that is not bound to a constant. Missing ones are random by
  // seed, with the numbers that sluice-loader uses, and with `dims` for the symbols of their sizes,
  // 1 for others.
  Result<std::vector<EvalValue>> finish(const std::optional<uint64_t>& seed,
                                        const std::map<std::string, int64_t>& dims);

 private:
  std::vector<std::string> names() const;
  Result<void> bind_file(size_t index, const std::string& path);
  Result<void> take(size_t index, Tensor tensor, const std::string& path);
  Result<void> check_dims(const std::map<std::string, int64_t>& dims) const;
  Result<std::vector<int64_t>> extents(const Value& value,
                                       const std::map<std::string, int64_t>& dims) const;
  Result<void> invent(size_t index, const std::optional<uint64_t>& seed,
                      const std::map<std::string, int64_t>& dims);

  const Module& module_;
  std::vector<const Value*> values_;
  std::vector<std::optional<EvalValue>> given_;
};

}  // namespace sluice
