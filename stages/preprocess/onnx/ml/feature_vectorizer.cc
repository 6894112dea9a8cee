// FeatureVectorizer joins the operands' columns, each operand cut or padded with zeros to its
// number of columns. A vector counts as one row; the rows of a tensor of higher rank are along the
// first axis, as in ONNX Runtime.
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {
namespace {

using FeatureVectorizerAttributes = ml_attributes::FeatureVectorizer;

Value* rows_of(ExpandCall& call, size_t index, int64_t rank) {
  Value* input = call.input(index);
  if (rank == 1) return call.unsqueeze(input, {0});
  if (rank == 2) return input;
  call.graph.module().warnings.add(
      Leniency::kFeatureRank,
      fmt::format("{}: input {} has rank {}, of which rows along the first axis are made",
                  call.label(), index, rank));
  return call.add(Op::kFlatten, {input}, {{"axis", int64_t{1}}});
}

Value* of_width(ExpandCall& call, Value* rows, int64_t width) {
  Value* cut = call.slice(rows, call.ints({0}), call.ints({width}), 1);
  Value* missing = call.add(Op::kSub, {call.ints({width}), call.dim(cut, 1)});
  return call.add(Op::kPad, {cut, call.concat({call.ints({0, 0, 0}), missing}, 0)});
}

}  // namespace

Result<void> expand_feature_vectorizer(ExpandCall& call) {
  const std::vector<int64_t> widths = call.get(FeatureVectorizerAttributes::inputdimensions);
  if (call.has(FeatureVectorizerAttributes::inputdimensions) &&
      widths.size() != call.inputs.size()) {
    return call.bad(
        "attribute 'inputdimensions' has {} elements, expected one for each of {} inputs",
        widths.size(), call.inputs.size());
  }
  std::vector<Value*> columns;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.input(i) == nullptr) return call.bad("input {} is absent", i);
    SLUICE_ASSIGN(const int64_t rank, call.rank(i));
    if (rank < 1) return call.bad("input {} has rank {}, expected 1 or 2", i, rank);
    Value* rows = call.cast(rows_of(call, i, rank), DType::kF32);
    if (!widths.empty() && widths[i] < 0)
      return call.bad("attribute 'inputdimensions' has the element {}", widths[i]);
    columns.push_back(widths.empty() ? rows : of_width(call, rows, widths[i]));
  }
  call.results[0] = call.concat(std::move(columns), 1);
  return {};
}

}  // namespace sluice
