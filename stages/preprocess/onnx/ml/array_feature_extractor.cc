// ArrayFeatureExtractor takes columns of the last axis by number. A vector counts as one row.
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

Result<void> expand_array_feature_extractor(ExpandCall& call) {
  SLUICE_ASSIGN(const int64_t rank, call.rank(0));
  Value* columns = call.reshape(call.input(1), {-1});
  Value* rows = rank == 1 ? call.unsqueeze(call.input(0), {0}) : call.input(0);
  call.results[0] = call.add(Op::kGather, {rows, columns}, {{"axis", int64_t{-1}}});
  return {};
}

}  // namespace sluice
