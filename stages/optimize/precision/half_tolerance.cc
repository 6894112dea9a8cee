#include "stages/optimize/precision/half_tolerance.h"

#include <algorithm>
#include <iterator>

namespace sluice {
namespace {

using enum HalfTolerance;

// Of Resize, BatchNormalization and their like, inputs after the first say how, in f32: places,
// statistics, rates.
constexpr uint32_t kFirstAlone = 1;

// Rows are in the order of Op.
constexpr HalfToleranceRow kTable[] = {
    {Op::kAbs, kGray},
    {Op::kAcos, kDeny},
    {Op::kAcosh, kDeny},
    {Op::kAdd, kGray},
    {Op::kArgMax, kGray},
    {Op::kArgMin, kGray},
    {Op::kAsin, kDeny},
    {Op::kAsinh, kDeny},
    {Op::kAtan, kDeny},
    {Op::kAtanh, kDeny},
    {Op::kAttention, kAllow},
    {Op::kAveragePool, kGray},
    {Op::kBatchNormalization, kGray, kFirstAlone},
    {Op::kCast, kDtypeFree},
    {Op::kCausalConvWithState, kAllow},
    {Op::kCeil, kGray},
    {Op::kCelu, kGray},
    {Op::kCenterCropPad, kGray},
    {Op::kClip, kGray},
    {Op::kCol2Im, kGray},
    {Op::kCompress, kGray},
    {Op::kConcat, kGray},
    {Op::kConv, kAllow},
    {Op::kConvTranspose, kAllow},
    {Op::kCos, kDeny},
    {Op::kCosh, kDeny},
    {Op::kCumProd, kDeny},
    {Op::kCumSum, kDeny},
    {Op::kDeformConv, kDeny},
    {Op::kDepthToSpace, kGray},
    {Op::kDet, kDeny},
    {Op::kDiv, kGray},
    {Op::kDropout, kGray, kFirstAlone},
    {Op::kEinsum, kAllow},
    {Op::kElu, kGray},
    {Op::kEqual, kGray},
    {Op::kErf, kGray},
    {Op::kExp, kDeny},
    {Op::kExpand, kGray},
    {Op::kFlatten, kGray},
    {Op::kFloor, kGray},
    {Op::kGRU, kAllow},
    {Op::kGather, kGray},
    {Op::kGatherElements, kGray},
    {Op::kGatherND, kGray},
    {Op::kGelu, kGray},
    {Op::kGemm, kAllow},
    {Op::kGlobalAveragePool, kGray},
    {Op::kGlobalLpPool, kDeny},
    {Op::kGlobalMaxPool, kGray},
    {Op::kGreater, kGray},
    {Op::kGreaterOrEqual, kGray},
    {Op::kGridSample, kGray, kFirstAlone},
    {Op::kGroupNormalization, kDeny},
    {Op::kHardSigmoid, kGray},
    {Op::kHardSwish, kGray},
    {Op::kHardmax, kGray},
    {Op::kIdentity, kGray},
    {Op::kInstanceNormalization, kDeny},
    {Op::kIsInf, kGray},
    {Op::kIsNaN, kGray},
    {Op::kLRN, kDeny},
    {Op::kLSTM, kAllow},
    {Op::kLayerNormalization, kDeny},
    {Op::kLeakyRelu, kGray},
    {Op::kLess, kGray},
    {Op::kLessOrEqual, kGray},
    {Op::kLinearAttention, kDeny},
    {Op::kLog, kDeny},
    {Op::kLogSoftmax, kDeny},
    {Op::kLpNormalization, kDeny},
    {Op::kLpPool, kDeny},
    {Op::kMatMul, kAllow},
    {Op::kMax, kGray},
    {Op::kMaxPool, kGray},
    {Op::kMaxUnpool, kGray},
    {Op::kMean, kGray},
    {Op::kMeanVarianceNormalization, kDeny},
    {Op::kMin, kGray},
    {Op::kMish, kGray},
    {Op::kMod, kDeny},
    {Op::kMul, kGray},
    {Op::kNeg, kGray},
    {Op::kNegativeLogLikelihoodLoss, kDeny},
    {Op::kNonZero, kGray},
    {Op::kPRelu, kGray},
    {Op::kPad, kGray},
    {Op::kPow, kDeny},
    {Op::kRMSNormalization, kDeny},
    {Op::kRNN, kAllow},
    {Op::kReciprocal, kDeny},
    {Op::kReduceL1, kDeny},
    {Op::kReduceL2, kDeny},
    {Op::kReduceLogSum, kDeny},
    {Op::kReduceLogSumExp, kDeny},
    {Op::kReduceMax, kGray},
    {Op::kReduceMean, kDeny},
    {Op::kReduceMin, kGray},
    {Op::kReduceProd, kDeny},
    {Op::kReduceSum, kDeny},
    {Op::kReduceSumSquare, kDeny},
    {Op::kRelu, kGray},
    {Op::kReshape, kGray},
    {Op::kResize, kGray, kFirstAlone},
    {Op::kReverseSequence, kGray},
    {Op::kRotaryEmbedding, kGray},
    {Op::kRound, kGray},
    {Op::kScatter, kGray},
    {Op::kScatterElements, kGray},
    {Op::kScatterND, kGray},
    {Op::kSelu, kGray},
    {Op::kShape, kDtypeFree},
    {Op::kShrink, kGray},
    {Op::kSigmoid, kGray},
    {Op::kSign, kGray},
    {Op::kSin, kDeny},
    {Op::kSinh, kDeny},
    {Op::kSize, kDtypeFree},
    {Op::kSlice, kGray},
    {Op::kSoftmax, kDeny},
    {Op::kSoftmaxCrossEntropyLoss, kDeny},
    {Op::kSoftplus, kDeny},
    {Op::kSoftsign, kGray},
    {Op::kSpaceToDepth, kGray},
    {Op::kSplit, kGray},
    {Op::kSqrt, kDeny},
    {Op::kSqueeze, kGray},
    {Op::kSub, kGray},
    {Op::kSum, kGray},
    {Op::kSwiGLU, kGray},
    {Op::kSwish, kGray},
    {Op::kTan, kDeny},
    {Op::kTanh, kGray},
    {Op::kTensorScatter, kGray},
    {Op::kThresholdedRelu, kGray},
    {Op::kTile, kGray},
    {Op::kTopK, kGray},
    {Op::kTranspose, kGray},
    {Op::kTrilu, kGray},
    {Op::kUnsqueeze, kGray},
    {Op::kUpsample, kGray, kFirstAlone},
    {Op::kWhere, kGray},
};

}  // namespace

std::optional<HalfTolerance> half_tolerance_from_name(std::string_view name) {
  if (name == "allow") return kAllow;
  if (name == "gray") return kGray;
  if (name == "deny") return kDeny;
  return std::nullopt;
}

std::span<const HalfToleranceRow> half_tolerance_table() { return kTable; }

const HalfToleranceRow* find_half_tolerance(Op op) {
  const auto* row =
      std::lower_bound(std::begin(kTable), std::end(kTable), op,
                       [](const HalfToleranceRow& each, Op wanted) { return each.op < wanted; });
  return row == std::end(kTable) || row->op != op ? nullptr : row;
}

}  // namespace sluice
