#include "stages/subgraph-optimize/codegen/attention/attention_steps.h"

#include <cmath>

#include "stages/subgraph-optimize/codegen/attention/turned_rows.h"
#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"
#include "stages/subgraph-optimize/codegen/contraction/row_copies.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/epilogue_builder.h"

namespace sluice {
namespace {

using llvm::Value;

// Returns the address of `count` keys as f32: in scratch, to which it copies others.
Value* widened_keys(KernelBuilder& b, const AttentionSpec& spec, const AttentionPlan& plan,
                    const AttentionStep& step, Value* key, int count) {
  Elements elements(b, spec.k.dtype);
  Value* keys = elements.at(step.operand, b.mul(key, spec.k.row_stride));
  if (!has_narrow_keys(spec)) return keys;
  Value* copies = b.at(step.scratch, plan.keys_at);
  emit_row_copies(b, elements, {keys, spec.k.row_stride, 1, spec.key_size}, b.index(count),
                  Elements(b, DType::kF32), copies, plan.key_stride);
  return copies;
}

}  // namespace

Epilogue softcap_epilogue(const AttentionSpec& spec) {
  if (spec.softcap <= 0) return {};
  EpilogueBuilder e;
  const int parts = e.mul(e.accumulator(), e.constant(1 / spec.softcap));
  Epilogue epilogue =
      e.finish(e.mul(e.scalar(loop::ScalarOp::kTanh, parts), e.constant(spec.softcap)));
  epilogue.math = spec.math;
  return epilogue;
}

bool has_shared_mask(const AttentionSpec& spec) {
  return spec.mask.kind != AttentionMaskKind::kNone && spec.mask.row_stride.is_fixed_at(0) &&
         (spec.group() == 1 || spec.mask.head_stride.is_fixed_at(0));
}

bool has_row_mask(const AttentionSpec& spec) {
  return spec.mask.kind != AttentionMaskKind::kNone && !has_shared_mask(spec);
}

Value* mask_address(KernelBuilder& b, const AttentionSpec& spec, Value* mask, Value* element) {
  if (spec.mask.kind == AttentionMaskKind::kBool)
    return b.ir().CreateInBoundsGEP(b.ir().getInt8Ty(), mask, element);
  return Elements(b, spec.mask.dtype).at(mask, element);
}

// The last tile of rows overlaps the one before, so that one function serves all tiles; fewer keys
// than it has rows are computed one by one.
llvm::Function* emit_score_step(KernelBuilder& b, const AttentionSpec& spec,
                                const AttentionPlan& plan, const RegisterTile& tile) {
  const Epilogue epilogue = softcap_epilogue(spec);
  TileReduction reduction;
  reduction.length = spec.key_size;
  reduction.row_stride = has_narrow_keys(spec) ? plan.key_stride : spec.k.row_stride;
  reduction.b_stride = width_of(tile);
  const TileOutput output{{plan.row_capacity}, &epilogue, {}};
  const auto emit_rows = [&](int rows) {
    return emit_tile(b, "products", {rows, tile.vectors, tile.lanes, tile.lanes}, reduction,
                     output);
  };
  llvm::Function* many = emit_rows(tile.rows);
  llvm::Function* single = tile.rows > 1 ? emit_rows(1) : nullptr;
  return emit_step(b, "scores", [&](const AttentionStep& step) {
    Value* panels = b.ceil_div(step.rows, b.index(width_of(tile)));
    const auto call = [&](llvm::Function* function, Value* key, int count) {
      Value* keys = widened_keys(b, spec, plan, step, key, count);
      Value* scores = b.at(b.at(step.scratch, plan.scores_at), b.mul(key, plan.row_capacity));
      b.loop(b.index(0), panels, 1, [&](Value* panel) {
        Value* queries =
            b.at(b.at(step.scratch, plan.queries_at), b.mul(panel, width_of(tile) * spec.key_size));
        b.ir().CreateCall(function,
                          {keys, queries, b.at(scores, b.mul(panel, width_of(tile))), b.index(0)});
      });
    };
    const auto call_many = [&] {
      Value* last = b.sub(step.keys, b.index(tile.rows));
      b.loop(b.index(0), step.keys, tile.rows,
             [&](Value* key) { call(many, b.min(key, last), tile.rows); });
    };
    if (single == nullptr) return call_many();
    b.if_else(b.ir().CreateICmpSGE(step.keys, b.index(tile.rows)), call_many,
              [&] { b.loop(b.index(0), step.keys, 1, [&](Value* key) { call(single, key, 1); }); });
  });
}

llvm::Function* emit_mask_step(KernelBuilder& b, const AttentionSpec& spec,
                               const AttentionPlan& plan) {
  const int lanes = plan.scores.lanes;
  return emit_step(b, "mask", [&](const AttentionStep& step) {
    b.loop(b.index(0), step.rows, lanes, [&](Value* first) {
      IrValues rows;
      Value* offsets =
          b.ir().CreateConstInBoundsGEP1_64(b.float_type(), step.scratch, plan.mask_offsets_at);
      offsets = b.ir().CreateInBoundsGEP(b.index_type(), offsets, first);
      for (int i = 0; i < lanes; ++i) {
        Value* offset = b.ir().CreateLoad(
            b.index_type(), b.ir().CreateConstInBoundsGEP1_64(b.index_type(), offsets, i));
        rows.push_back(mask_address(b, spec, step.operand, offset));
      }
      const auto load = [&](int row, Value* key, int count) {
        Value* own = rows[static_cast<size_t>(row)];
        if (spec.mask.key_stride == 1)
          return load_mask(b, spec, mask_address(b, spec, own, key), count);
        Value* one = load_mask(b, spec, own, 1);
        return count == 1 ? one : b.broadcast(one, count);
      };
      TurnedRows turned;
      turned.lanes = lanes;
      turned.count = step.keys;
      turned.load_vector = [&](int row, Value* key) { return load(row, key, lanes); };
      turned.load_one = [&](int row, Value* key) { return load(row, key, 1); };
      Value* scores = b.at(b.at(step.scratch, plan.scores_at), first);
      emit_turned_rows(b, turned, [&](Value* key, Value* bias) {
        Value* address = b.at(scores, b.mul(key, plan.row_capacity));
        Value* score = b.load_vector(address, lanes, lanes);
        b.store_vector(masked_scores(b, spec, score, bias), address, lanes);
      });
    });
  });
}

llvm::Function* emit_step(KernelBuilder& b, const std::string& name,
                          const std::function<void(const AttentionStep& step)>& body) {
  llvm::Function* function = b.begin_function(
      name, {b.pointer_type(), b.pointer_type(), b.index_type(), b.index_type(), b.index_type()});
  body({function->getArg(0), function->getArg(1), function->getArg(2), function->getArg(3),
        function->getArg(4)});
  b.ret_void();
  return function;
}

Value* load_mask(KernelBuilder& b, const AttentionSpec& spec, Value* address, int lanes) {
  if (spec.mask.kind == AttentionMaskKind::kFloat) {
    Elements elements(b, spec.mask.dtype);
    return lanes > 1 ? elements.load_vector(address, lanes, lanes) : elements.load(address);
  }
  llvm::Type* type = b.ir().getInt8Ty();
  if (lanes > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
  Value* loaded = b.ir().CreateAlignedLoad(type, address, llvm::Align(1));
  Value* is_visible = b.ir().CreateICmpNE(loaded, llvm::Constant::getNullValue(type));
  llvm::Type* result = lanes > 1 ? b.vector_type(lanes) : b.float_type();
  return b.ir().CreateSelect(is_visible, llvm::ConstantFP::get(result, 0.0),
                             llvm::ConstantFP::getInfinity(result, true));
}

// A mask of bools was loaded as 0 and -inf, so only keys that it hides have the score -inf.
Value* masked_scores(KernelBuilder& b, const AttentionSpec& spec, Value* scores, Value* mask) {
  Value* sums = b.ir().CreateFAdd(scores, mask);
  if (std::isinf(spec.mask.hidden_score)) return sums;
  Value* is_hidden =
      b.ir().CreateFCmpOEQ(mask, llvm::ConstantFP::getInfinity(mask->getType(), true));
  return b.ir().CreateSelect(is_hidden,
                             llvm::ConstantFP::get(sums->getType(), spec.mask.hidden_score), sums);
}

void call_step(KernelBuilder& b, llvm::Function* step, const AttentionStep& a) {
  b.ir().CreateCall(step, {a.scratch, a.operand, a.first_key, a.rows, a.keys});
}

}  // namespace sluice
