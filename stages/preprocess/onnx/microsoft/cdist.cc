// CDist computes the distances of all rows of A from all rows of B.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_cdist(ExpandCall& call) {
  Value* difference =
      call.add(Op::kSub, {call.unsqueeze(call.input(0), {1}), call.unsqueeze(call.input(1), {0})});
  const bool is_squared = call.get(microsoft_attributes::CDist::metric) == "sqeuclidean";
  call.results[0] = call.add(is_squared ? Op::kReduceSumSquare : Op::kReduceL2,
                             {difference, call.ints({2})}, {{"keepdims", int64_t{0}}});
  return {};
}

}  // namespace sluice
