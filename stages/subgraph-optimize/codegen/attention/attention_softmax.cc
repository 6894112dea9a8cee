#include "stages/subgraph-optimize/codegen/attention/attention_steps.h"
#include "stages/subgraph-optimize/codegen/emit/math.h"

namespace sluice {
namespace {

using llvm::Value;

// The softmax of some vectors of rows over a tile of keys.
class SoftmaxEmitter {
 public:
  SoftmaxEmitter(KernelBuilder& b, const AttentionSpec& spec, const AttentionPlan& plan,
                 const AttentionStep& step, Value* first_row)
      : b_(b),
        spec_(spec),
        plan_(plan),
        step_(step),
        math_(b.ir(), b.profile(), spec.math),
        lanes_(plan.scores.lanes),
        first_row_(first_row) {}

  // Emits:
  //
  //   m' = m; for key: S = masked S; m' = max(m', S)
  //   sum = 0; for key: S = exp(S - m'); sum += S
  //   f = exp(m - m'); l = l f + sum; m = m'
  //
  // Until a row has seen a key, 0 stands for its m': exp(-inf - 0) is 0.
  void emit() {
    const IrValues old = load_rows(plan_.maxima_at);
    if (spec_.is_causal) load_positions();
    const IrValues maxima =
        b_.loop(b_.index(0), step_.keys, 1, old,
                [&](Value* key, const IrValues& so_far) { return mask_and_compare(key, so_far); });
    IrValues bases;
    for (Value* maximum : maxima) bases.push_back(base_of(maximum));
    const IrValues sums = b_.loop(
        b_.index(0), step_.keys, 1, IrValues(maxima.size(), b_.splat(0.0f, lanes_)),
        [&](Value* key, const IrValues& so_far) { return add_exponentials(key, bases, so_far); });
    for (size_t i = 0; i < maxima.size(); ++i) {
      const int vector = static_cast<int>(i);
      Value* factor = math_.exp(b_.ir().CreateFSub(old[i], bases[i]));
      Value* norm = b_.load_vector(row_address(plan_.norms_at, vector), lanes_, lanes_);
      store_row(plan_.maxima_at, vector, maxima[i]);
      store_row(plan_.factors_at, vector, factor);
      store_row(plan_.norms_at, vector, b_.multiply_add(norm, factor, sums[i]));
    }
  }

 private:
  Value* row_address(int64_t table, int vector) {
    return b_.at(b_.at(step_.scratch, table + int64_t{vector} * lanes_), first_row_);
  }
  Value* score_address(Value* key, int vector) {
    return b_.at(row_address(plan_.scores_at, vector), b_.mul(key, plan_.row_capacity));
  }
  IrValues load_rows(int64_t table) {
    IrValues rows;
    for (int i = 0; i < plan_.softmax_vectors; ++i)
      rows.push_back(b_.load_vector(row_address(table, i), lanes_, lanes_));
    return rows;
  }
  void store_row(int64_t table, int vector, Value* row) {
    b_.store_vector(row, row_address(table, vector), lanes_);
  }

  void load_positions() {
    auto* type = llvm::FixedVectorType::get(b_.ir().getInt32Ty(), static_cast<unsigned>(lanes_));
    for (int i = 0; i < plan_.softmax_vectors; ++i) {
      positions_.push_back(
          b_.ir().CreateAlignedLoad(type, row_address(plan_.positions_at, i), llvm::Align(4)));
    }
  }

  IrValues mask_and_compare(Value* key, const IrValues& so_far) {
    IrValues next;
    Value* bias = nullptr;
    if (has_shared_mask(spec_)) {
      Value* address = mask_address(b_, spec_, step_.operand, b_.mul(key, spec_.mask.key_stride));
      bias = b_.broadcast(load_mask(b_, spec_, address, 1), lanes_);
    }
    for (int i = 0; i < plan_.softmax_vectors; ++i) {
      Value* score = b_.load_vector(score_address(key, i), lanes_, lanes_);
      if (bias != nullptr) score = masked_scores(b_, spec_, score, bias);
      if (spec_.is_causal) score = hide_later(key, i, score);
      if (bias != nullptr || spec_.is_causal) b_.store_vector(score, score_address(key, i), lanes_);
      Value* own = so_far[static_cast<size_t>(i)];
      next.push_back(b_.ir().CreateSelect(b_.ir().CreateFCmpOGT(score, own), score, own));
    }
    return next;
  }

  Value* hide_later(Value* key, int vector, Value* score) {
    Value* place = b_.ir().CreateTrunc(b_.add(step_.first_key, key), b_.ir().getInt32Ty());
    Value* is_visible =
        b_.ir().CreateICmpSLE(b_.broadcast(place, lanes_), positions_[static_cast<size_t>(vector)]);
    return b_.ir().CreateSelect(is_visible, score, b_.splat(kHiddenScore, lanes_));
  }

  Value* base_of(Value* maximum) {
    Value* is_hidden = b_.ir().CreateFCmpOEQ(maximum, b_.splat(kHiddenScore, lanes_));
    return b_.ir().CreateSelect(is_hidden, b_.splat(0.0f, lanes_), maximum);
  }

  IrValues add_exponentials(Value* key, const IrValues& bases, const IrValues& so_far) {
    IrValues next;
    for (int i = 0; i < plan_.softmax_vectors; ++i) {
      const auto at = static_cast<size_t>(i);
      Value* score = b_.load_vector(score_address(key, i), lanes_, lanes_);
      Value* weight = math_.exp(b_.ir().CreateFSub(score, bases[at]));
      b_.store_vector(weight, score_address(key, i), lanes_);
      next.push_back(b_.ir().CreateFAdd(so_far[at], weight));
    }
    return next;
  }

  KernelBuilder& b_;
  const AttentionSpec& spec_;
  const AttentionPlan& plan_;
  const AttentionStep& step_;
  MathEmitter math_;
  int lanes_;
  Value* first_row_;
  IrValues positions_;
};

}  // namespace

llvm::Function* emit_softmax_step(KernelBuilder& b, const AttentionSpec& spec,
                                  const AttentionPlan& plan) {
  return emit_step(b, "softmax", [&](const AttentionStep& step) {
    b.loop(b.index(0), step.rows, int64_t{plan.softmax_vectors} * plan.scores.lanes,
           [&](Value* row) { SoftmaxEmitter(b, spec, plan, step, row).emit(); });
  });
}

}  // namespace sluice
