// A drawn graph in which a pattern of a rule occurs. Internal to common/rules.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/base/tensor.h"
#include "common/ir/module.h"
#include "common/rules/rule.h"

namespace sluice::rules {

using Random = std::mt19937_64;

struct Instance {
  Module module;
  // The values of the inputs of its root, in their order.
  std::vector<Tensor> inputs;
};

// Draws types for what the pattern reads, and makes its nodes. Returns nothing where the types do
// not fit together; `reason` then says why.
std::optional<Instance> draw_instance(const Rule& rule, const Pattern& pattern, DType dtype,
                                      Random& random, std::string& reason);

}  // namespace sluice::rules
