#include <algorithm>

#include "stages/subgraph-optimize/codegen/attention/attention_steps.h"
#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"
#include "stages/subgraph-optimize/codegen/contraction/pack_emitter.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/epilogue_builder.h"

namespace sluice {
namespace {

using llvm::Value;

// Returns acc + O * f of the row.
Epilogue rescaling_epilogue(const AttentionPlan& plan) {
  EpilogueBuilder e;
  const int sum = e.accumulator();
  const int old = e.load(EpilogueOperand::full(plan.column_stride));
  return e.finish(e.add(sum, e.mul(old, e.load(EpilogueOperand::row()))));
}

// The functions for columns of V: whole tiles, and what remains after these.
struct ColumnTiles {
  llvm::Function* whole = nullptr;
  llvm::Function* last = nullptr;
  int64_t width = 0;
};

class ValueEmitter {
 public:
  ValueEmitter(KernelBuilder& b, const AttentionSpec& spec, const AttentionPlan& plan,
               bool has_few_rows)
      : b_(b),
        spec_(spec),
        plan_(plan),
        elements_(b, spec.v.dtype),
        epilogue_(rescaling_epilogue(plan)),
        rows_(has_few_rows ? 1 : plan.values.rows),
        packs_(plan.packs_values && !has_few_rows),
        row_stride_(has_few_rows ? plan.keys : 1),
        key_stride_(has_few_rows ? 1 : plan.row_capacity) {}

  // Emits, for a number of rows that leaves more than half of the last tile:
  //
  //   where plan.packs_values: scratch = V, in panels of f32
  //   for tile of rows: for columns: O = O f + S' V
  //
  // and otherwise the last rows one by one.
  llvm::Function* emit() {
    if (rows_ > 1) many_ = emit_columns(rows_, plan_.values.vectors);
    const int max_vectors = packs_ ? plan_.values.vectors : kMaxRowVectors;
    single_ = emit_columns(1, std::min(max_vectors, all_vectors()));
    return emit_step(b_, "values", [&](const AttentionStep& step) {
      step_ = step;
      symbols_ = b_.stack(b_.index_type(), 1);
      b_.ir().CreateStore(step.keys, symbols_);
      if (packs_) pack();
      Value* whole = b_.index(0);
      if (rows_ > 1) {
        whole = b_.mul(b_.div(b_.add(step.rows, b_.index(rows_ / 2)), rows_), rows_);
        b_.loop(b_.index(0), whole, rows_, [&](Value* row) { call_columns(many_, row); });
      }
      b_.loop(whole, step.rows, 1, [&](Value* row) { call_columns(single_, row); });
    });
  }

 private:
  // Vectors of sums for a single row: as many as are independent of each other in flight.
  static constexpr int kMaxRowVectors = 8;

  int all_vectors() const { return static_cast<int>(plan_.column_stride / plan_.values.lanes); }

  ColumnTiles emit_columns(int rows, int vectors) {
    const int lanes = plan_.values.lanes;
    ColumnTiles tiles{.width = int64_t{vectors} * lanes};
    const auto emit_with = [&](int of_vectors, int active) {
      const TileShape shape{rows, of_vectors, lanes, active, true};
      TileReduction reduction;
      reduction.length = Extent::of_symbol(0, plan_.keys);
      reduction.row_stride = row_stride_;
      reduction.k_stride = key_stride_;
      reduction.b_stride = packs_ ? width_of(plan_.values) : spec_.v.row_stride;
      reduction.b_is_exact = !packs_;
      reduction.b = packs_ ? DType::kF32 : spec_.v.dtype;
      const TileOutput output{{plan_.column_stride}, &epilogue_, {{plan_.column_stride}, {1}}};
      return emit_tile(b_, "weigh", shape, reduction, output);
    };
    if (spec_.value_size >= tiles.width) tiles.whole = emit_with(vectors, lanes);
    const int remainder = static_cast<int>(spec_.value_size % tiles.width);
    const int active = remainder % lanes == 0 ? lanes : remainder % lanes;
    if (remainder > 0) tiles.last = emit_with((remainder + lanes - 1) / lanes, active);
    return tiles;
  }

  void pack() {
    const int64_t width = width_of(plan_.values);
    const int64_t panels = (spec_.value_size + width - 1) / width;
    b_.set_symbols(symbols_);
    b_.loop(b_.index(0), b_.index(panels), 1, [&](Value* panel) {
      const PanelSource source{elements_.at(step_.operand, b_.mul(panel, width)),
                               Extent::of_symbol(0, plan_.keys),
                               spec_.v.row_stride,
                               spec_.value_size,
                               1,
                               width,
                               spec_.v.dtype};
      emit_pack_panel(b_, source, panel, packed_columns(b_.mul(panel, width)));
    });
  }

  Value* packed_columns(Value* column) {
    return b_.at(b_.at(step_.scratch, plan_.values_at), b_.mul(column, plan_.keys));
  }

  void call_columns(const ColumnTiles& tiles, Value* row) {
    const int64_t whole = spec_.value_size / tiles.width * tiles.width;
    b_.loop(b_.index(0), b_.index(whole), tiles.width,
            [&](Value* column) { call(tiles.whole, row, column); });
    if (tiles.last != nullptr) call(tiles.last, row, b_.index(whole));
  }

  void call(llvm::Function* tile, Value* row, Value* column) {
    Value* sums = b_.at(b_.at(step_.scratch, plan_.sums_at), column);
    Value* values = packs_ ? packed_columns(column) : elements_.at(step_.operand, column);
    Value* scores = b_.at(b_.at(step_.scratch, plan_.scores_at), b_.mul(row, row_stride_));
    b_.ir().CreateCall(tile, {scores, values, b_.at(sums, b_.mul(row, plan_.column_stride)), row,
                              sums, b_.at(step_.scratch, plan_.factors_at), symbols_, b_.index(0)});
  }

  KernelBuilder& b_;
  const AttentionSpec& spec_;
  const AttentionPlan& plan_;
  Elements elements_;  // of V
  const Epilogue epilogue_;
  const int rows_;  // of a tile
  const bool packs_;
  const int64_t row_stride_, key_stride_;  // of the scores
  ColumnTiles many_, single_;
  AttentionStep step_;
  Value* symbols_ = nullptr;  // the keys of the tile
};

}  // namespace

llvm::Function* emit_value_step(KernelBuilder& b, const AttentionSpec& spec,
                                const AttentionPlan& plan, bool has_few_rows) {
  return ValueEmitter(b, spec, plan, has_few_rows).emit();
}

}  // namespace sluice
