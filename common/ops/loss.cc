// Losses: scores [N, C, d1, …] against labels [N, d1, …].
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

Result<void> infer_loss(InferCall& call) {
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  SLUICE_TRY(call.expect_rank(0, 2, INT64_MAX));
  SLUICE_TRY(call.expect_rank(2, 1));
  SLUICE_TRY(call.unify(call.dim(0, 1), call.dim(2, 0), "numbers of classes and of weights"));
  const std::string reduction = call.node.get(attributes::Loss::reduction);
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    return call.bad_node("attribute 'reduction' is '{}'", reduction);
  Shape labels = call.shape(1);
  if (const Shape scores = call.shape(0)) {
    Dims expected = *scores;
    expected.erase(expected.begin() + 1);
    SLUICE_ASSIGN(labels, call.unify(Shape(expected), labels,
                                     "shapes of labels and of scores without classes"));
  }
  SLUICE_TRY(call.give(0, call.dtype(0), reduction == "none" ? labels : Shape(Dims{})));
  return call.give_like(1, 0);
}

constexpr OpRow kLossRows[] = {
    {Op::kNegativeLogLikelihoodLoss, 2, 3, 1, 1, 0, attribute_rows::Loss, infer_loss},
    {Op::kSoftmaxCrossEntropyLoss, 2, 3, 1, 2, 0, attribute_rows::Loss, infer_loss},
};

}  // namespace

std::span<const OpRow> loss_rows() { return kLossRows; }

}  // namespace sluice
