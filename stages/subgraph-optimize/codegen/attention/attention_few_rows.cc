// The steps of tasks with few rows: scores lie by rows and keys, and keys are the lanes of vectors.
#include "stages/subgraph-optimize/codegen/attention/attention_steps.h"
#include "stages/subgraph-optimize/codegen/contraction/dot_tile.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/math.h"

namespace sluice {
namespace {

using llvm::Value;

// The softmax of one row over a tile of keys.
class RowSoftmaxEmitter {
 public:
  RowSoftmaxEmitter(KernelBuilder& b, const AttentionSpec& spec, const AttentionPlan& plan,
                    const AttentionStep& step, Value* row)
      : b_(b),
        spec_(spec),
        plan_(plan),
        step_(step),
        math_(b.ir(), b.profile(), spec.math),
        lanes_(plan.dot_lanes),
        row_(row) {}

  // Emits what SoftmaxEmitter does, for the lanes of one row; after the last key, scores are -inf.
  void emit() {
    scores_ = b_.at(b_.at(step_.scratch, plan_.scores_at), b_.mul(row_, plan_.keys));
    if (spec_.is_causal) {
      position_ = b_.ir().CreateAlignedLoad(
          b_.ir().getInt32Ty(), entry(plan_.positions_at, b_.ir().getInt32Ty()), llvm::Align(4));
    }
    find_mask();
    Value* old = b_.load_float(entry(plan_.maxima_at, b_.float_type()));
    Value* maximum = fold(emit_maxima(b_.broadcast(old, lanes_)), [&](Value* a, Value* b) {
      return b_.ir().CreateSelect(b_.ir().CreateFCmpOGT(a, b), a, b);
    });
    Value* is_hidden = b_.ir().CreateFCmpOEQ(
        maximum, llvm::ConstantFP::get(b_.float_type(), double{kHiddenScore}));
    Value* base =
        b_.ir().CreateSelect(is_hidden, llvm::ConstantFP::get(b_.float_type(), 0), maximum);
    Value* sum = fold(emit_exponentials(b_.broadcast(base, lanes_)),
                      [&](Value* a, Value* b) { return b_.ir().CreateFAdd(a, b); });
    Value* factor = math_.exp(b_.ir().CreateFSub(old, base));
    Value* norm = b_.load_float(entry(plan_.norms_at, b_.float_type()));
    store(plan_.maxima_at, maximum);
    store(plan_.factors_at, factor);
    store(plan_.norms_at, b_.multiply_add(norm, factor, sum));
  }

 private:
  Value* entry(int64_t table, llvm::Type* type) {
    return b_.ir().CreateInBoundsGEP(type, b_.at(step_.scratch, table), row_);
  }
  void store(int64_t table, Value* number) {
    b_.ir().CreateAlignedStore(number, entry(table, b_.float_type()), llvm::Align(4));
  }

  void find_mask() {
    if (spec_.mask.kind == AttentionMaskKind::kNone) return;
    mask_ = step_.operand;
    if (has_shared_mask(spec_)) return;
    Value* offset = b_.ir().CreateAlignedLoad(
        b_.index_type(), entry(plan_.mask_offsets_at, b_.index_type()), llvm::Align(8));
    mask_ = mask_address(b_, spec_, mask_, offset);
  }

  // Returns a vector whose lanes are combined, as a scalar.
  template <typename Combine>
  Value* fold(Value* vector, const Combine& combine) {
    for (int half = lanes_ / 2; half > 0; half /= 2) {
      std::vector<int> upper;
      for (int lane = 0; lane < lanes_; ++lane) upper.push_back((lane + half) % lanes_);
      vector = combine(vector, b_.ir().CreateShuffleVector(vector, upper));
    }
    return b_.ir().CreateExtractElement(vector, uint64_t{0});
  }

  Value* score_address(Value* key) { return b_.at(scores_, key); }

  Value* emit_maxima(Value* old) {
    Value* whole = b_.mul(b_.div(step_.keys, lanes_), lanes_);
    const auto body = [&](Value* key, const IrValues& so_far, bool is_last) -> IrValues {
      Value* score = b_.load_vector(score_address(key), lanes_, lanes_);
      if (mask_ != nullptr) score = masked_scores(b_, spec_, score, mask_of(key, is_last));
      if (spec_.is_causal) score = keep_until(b_.add(key, step_.first_key), position_, score);
      if (is_last) score = keep_until(key, b_.sub(step_.keys, b_.index(1)), score);
      b_.store_vector(score, score_address(key), lanes_);
      Value* is_larger = b_.ir().CreateFCmpOGT(score, so_far[0]);
      return {b_.ir().CreateSelect(is_larger, score, so_far[0])};
    };
    const IrValues maxima =
        b_.loop(b_.index(0), whole, lanes_, {old},
                [&](Value* key, const IrValues& so_far) { return body(key, so_far, false); });
    return b_.loop(whole, step_.keys, lanes_, maxima,
                   [&](Value* key, const IrValues& so_far) { return body(key, so_far, true); })[0];
  }

  // Returns the mask of a vector of keys; of the last ones each lane is loaded alone.
  Value* mask_of(Value* key, bool is_last) {
    const auto load = [&](Value* at, int lanes) {
      return load_mask(b_, spec_, mask_address(b_, spec_, mask_, at), lanes);
    };
    if (spec_.mask.key_stride == 0) return b_.broadcast(load(b_.index(0), 1), lanes_);
    if (!is_last) return load(key, lanes_);
    Value* mask = b_.splat(0.0f, lanes_);
    for (int lane = 0; lane < lanes_; ++lane) {
      Value* at = b_.min(b_.add(key, b_.index(lane)), b_.sub(step_.keys, b_.index(1)));
      mask = b_.ir().CreateInsertElement(mask, load(at, 1), static_cast<uint64_t>(lane));
    }
    return mask;
  }

  // Hides the lanes of keys after the last one that counts.
  Value* keep_until(Value* first, Value* last, Value* score) {
    llvm::Type* type = b_.ir().getInt32Ty();
    std::vector<uint32_t> numbers;
    for (int lane = 0; lane < lanes_; ++lane) numbers.push_back(static_cast<uint32_t>(lane));
    Value* places =
        b_.ir().CreateAdd(b_.broadcast(b_.ir().CreateTrunc(first, type), lanes_),
                          llvm::ConstantDataVector::get(b_.module().getContext(), numbers));
    Value* limit = b_.broadcast(b_.ir().CreateTrunc(last, type), lanes_);
    return b_.ir().CreateSelect(b_.ir().CreateICmpSLE(places, limit), score,
                                b_.splat(kHiddenScore, lanes_));
  }

  Value* emit_exponentials(Value* base) {
    return b_.loop(b_.index(0), step_.keys, lanes_, {b_.splat(0.0f, lanes_)},
                   [&](Value* key, const IrValues& so_far) -> IrValues {
                     Value* score = b_.load_vector(score_address(key), lanes_, lanes_);
                     Value* weight = math_.exp(b_.ir().CreateFSub(score, base));
                     b_.store_vector(weight, score_address(key), lanes_);
                     return {b_.ir().CreateFAdd(so_far[0], weight)};
                   })[0];
  }

  KernelBuilder& b_;
  const AttentionSpec& spec_;
  const AttentionPlan& plan_;
  const AttentionStep& step_;
  MathEmitter math_;
  int lanes_;
  Value* row_;
  Value *scores_ = nullptr, *position_ = nullptr, *mask_ = nullptr;
};

}  // namespace

llvm::Function* emit_dot_score_step(KernelBuilder& b, const AttentionSpec& spec,
                                    const AttentionPlan& plan) {
  const Epilogue epilogue = softcap_epilogue(spec);
  llvm::Function* dots = emit_dot_tile(
      b, "dots", {plan.dot_lanes, spec.key_size, spec.k.row_stride, spec.k.dtype, &epilogue});
  return emit_step(b, "row_scores", [&](const AttentionStep& step) {
    b.loop(b.index(0), step.keys, plan.dot_lanes, [&](Value* key) {
      Value* keys = Elements(b, spec.k.dtype).at(step.operand, b.mul(key, spec.k.row_stride));
      b.loop(b.index(0), step.rows, 1, [&](Value* row) {
        Value* query = b.at(b.at(step.scratch, plan.queries_at), b.mul(row, spec.key_size));
        Value* scores = b.at(b.at(b.at(step.scratch, plan.scores_at), b.mul(row, plan.keys)), key);
        b.ir().CreateCall(dots, {query, keys, scores, b.sub(step.keys, key)});
      });
    });
  });
}

llvm::Function* emit_row_softmax_step(KernelBuilder& b, const AttentionSpec& spec,
                                      const AttentionPlan& plan) {
  return emit_step(b, "row_softmax", [&](const AttentionStep& step) {
    b.loop(b.index(0), step.rows, 1,
           [&](Value* row) { RowSoftmaxEmitter(b, spec, plan, step, row).emit(); });
  });
}

}  // namespace sluice
