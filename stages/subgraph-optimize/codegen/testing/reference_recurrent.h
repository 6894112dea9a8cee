// The walk of a recurrent cell in double precision by the plainest loops, for tests.
#pragma once

#include <vector>

#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"

namespace sluice {

// The operands of a walk, as its kernel reads them, but for R: [directions][gates *
// hidden][hidden].
struct RecurrentOperands {
  int64_t steps = 1, batch = 1;
  std::vector<float> products, r, bias, h, c, peepholes;  // empty where there is none
  std::vector<int32_t> lengths;
};

struct RecurrentResults {
  std::vector<double> y, y_h, y_c;
};

RecurrentResults reference_recurrent(const RecurrentSpec& spec, const RecurrentOperands& operands);

}  // namespace sluice
