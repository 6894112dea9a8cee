// The part that models of support vectors share.
#pragma once

#include <string>
#include <vector>

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

struct SupportVectors {
  std::string kernel;             // attribute 'kernel_type'
  std::vector<float> parameters;  // gamma, coef0, degree
  std::vector<float> elements;
  int64_t count = 0;
};

// Returns the kernel's values of each row of X [N, F] and each support vector: f32 [N, count].
//
//   LINEAR x·v   POLY (gamma x·v + coef0)^degree   RBF exp(-gamma |x - v|^2)
//   SIGMOID tanh(gamma x·v + coef0)
Result<Value*> kernel_values(ExpandCall& call, SupportVectors vectors);

}  // namespace sluice
