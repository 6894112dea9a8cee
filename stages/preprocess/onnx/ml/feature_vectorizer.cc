// FeatureVectorizer: the operands' columns side by side, each operand cut or filled up with zeros to its number of columns. A vector counts
// as one row.
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {
namespace {

Value* of_width(ExpandCall& call, Value* rows, int64_t width) {
  Value* cut = call.slice(rows, call.ints({0}), call.ints({width}), 1);
  Value* missing = call.add(Op::kSub, {call.ints({width}), call.dim(cut, 1)});
  return call.add(Op::kPad, {cut, call.concat({call.ints({0, 0, 0}), missing}, 0)});
}

}  // namespace

Result<void> expand_feature_vectorizer(ExpandCall& call) {
  const std::vector<int64_t> widths = call.ints_attribute("inputdimensions");
  if (call.has("inputdimensions") && widths.size() != call.inputs.size()) {
    return call.bad("attribute 'inputdimensions' has {} elements, expected one for each of {} inputs", widths.size(), call.inputs.size());
  }
  std::vector<Value*> columns;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.input(i) == nullptr) return call.bad("input {} is absent", i);
    SLUICE_ASSIGN(const int64_t rank, call.rank(i));
    if (rank < 1 || rank > 2) return call.bad("input {} has rank {}, expected 1 or 2", i, rank);
    Value* rows = call.cast(rank == 1 ? call.unsqueeze(call.input(i), {0}) : call.input(i), DType::kF32);
    if (!widths.empty() && widths[i] < 0) return call.bad("attribute 'inputdimensions' has the element {}", widths[i]);
    columns.push_back(widths.empty() ? rows : of_width(call, rows, widths[i]));
  }
  call.results[0] = call.concat(std::move(columns), 1);
  return {};
}

}  // namespace sluice
