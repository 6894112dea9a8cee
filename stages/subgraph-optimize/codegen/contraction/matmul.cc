// MatMul kernels address A and B by strides; B is packed beforehand, read in place, or packed into
// scratch panel by panel, and so may be the rows of A. Both are read in place where A has few rows,
// so that packing would cost more than it saves, and where the length of the reduction is known
// only when the kernel runs, and is then too long for scratch.
#include <algorithm>
#include <optional>
#include <utility>

#include "stages/subgraph-optimize/codegen/contraction/dot_tile.h"
#include "stages/subgraph-optimize/codegen/contraction/nest.h"
#include "stages/subgraph-optimize/codegen/contraction/pack_emitter.h"
#include "stages/subgraph-optimize/codegen/contraction/row_copies.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

Result<void> check(const MatMulSpec& spec) {
  if (spec.m.factor < 1 || spec.n.factor < 1 || spec.k.factor < 1) {
    return make_error(ErrorCode::kCodegen, "matmul of size {}x{}x{}: every size must be at least 1",
                      canonical_text(spec.m), canonical_text(spec.k), canonical_text(spec.n));
  }
  if (spec.batch.size() > 6)
    return make_error(ErrorCode::kCodegen, "matmul has {} batch axes, at most 6 are possible",
                      spec.batch.size());
  for (const BatchAxis& axis : spec.batch) {
    if (axis.size.factor < 1)
      return make_error(ErrorCode::kCodegen, "matmul has a batch axis of size {}",
                        canonical_text(axis.size));
  }
  if (!is_operand_dtype(spec.dtype))
    return make_error(ErrorCode::kCodegen, "matmul of {}", dtype_name(spec.dtype));
  return check_epilogue(spec.epilogue, spec.batch.size());
}

constexpr int64_t kCopyUnit = 16;  // elements

// Emits the tile functions (microkernel.h) and the nest around them (nest.h):
//
//   for entry in the block's batch entries:
//     for panels of nr columns, panel_group at a time:
//       where the kernel packs B: scratch[k][nr] = B[entry][k][panel], panel_group is 1
//       for tile of plan.rows rows:
//         where the kernel copies A: scratch[rows][k] = A[entry][row + i][k]
//         for panel:
//           acc[rows][vectors] = 0
//           for k: acc[i][j] += A[entry][row + i][k] * B[entry][k][panel][j]
//           C[entry][row + i][panel][j] = epilogue(acc[i][j])
//
// A second nest reads A and B in place, by dot products where the columns of B are contiguous: for
// few rows and, in a symbolic kernel that uses scratch, for long reductions. A kernel contains the
// nests that a run of it may need.
class MatMulEmitter {
 public:
  MatMulEmitter(const MatMulSpec& spec, const DeviceProfile& profile)
      : spec_(spec),
        b_(profile),
        is_symbolic_(!is_fixed(spec)),
        plan_(choose_matmul_plan(spec, profile)),
        in_memory_(b_, spec.dtype),
        stored_(b_, spec.epilogue.stored(DType::kF32)),
        copied_(b_, in_pairs() && profile.bf16_dot_product ? DType::kBF16 : DType::kF32) {
    for (const BatchAxis& axis : spec.batch) batch_ *= axis.size;
    choose_b();
    choose_a();
  }

  Result<GeneratedKernel> emit() {
    const std::string entry = kernel_entry(canonical_text(spec_), b_.profile());
    const ContractionNest nest = make_nest(), in_place = make_nest_in_place();
    std::optional<TileFunctions> tiles, tiles_in_place;
    if (!has_few_rows()) tiles = emit_tiles(nest);
    if (has_few_rows() || may_have_few_rows() || may_be_long())
      reading_in_place([&] { tiles_in_place = emit_tiles(in_place); });
    begin(entry);
    const auto emit_main = [&] { emit_loops(nest, *tiles); };
    const auto emit_in_place = [&] {
      reading_in_place([&] { emit_loops(in_place, *tiles_in_place); });
    };
    if (!tiles) {
      emit_in_place();
    } else if (!tiles_in_place) {
      emit_main();
    } else {
      b_.if_else(is_read_in_place(), emit_in_place, emit_main);
    }
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry, {.knows_target = is_symbolic_}));
    set_launch(nest, b_.profile(), kernel);
    kernel.scratch_bytes = static_cast<uint64_t>(scratch_bytes());
    return kernel;
  }

 private:
  ContractionNest make_nest() const {
    ContractionNest nest;
    nest.has_masked_tiles = b_.has_masks();
    nest.batch = batch_, nest.rows = spec_.m, nest.columns = spec_.n, nest.reduction = spec_.k;
    nest.plan = plan_;
    nest.is_symbolic = is_symbolic_;
    nest.panels_are_dear = packs_b_;
    return nest;
  }

  // Makes a nest with few tile functions, since they serve few rows and rare reductions.
  ContractionNest make_nest_in_place() const {
    ContractionNest nest = make_nest();
    nest.panels_are_dear = takes_dots();  // a panel passes the first cache once for all rows
    nest.plan.vectors = 1;
    if (takes_dots()) {
      nest.plan.lanes = b_.profile().vector_bits / 32;
      nest.plan.rows = 1;
    } else {
      nest.plan.rows = std::min(plan_.rows, 8);
      nest.has_many_rows = true;
    }
    nest.plan.nr = nest.plan.lanes;
    return nest;
  }

  bool takes_dots() const { return plan_.dot_rows > 0; }
  bool has_few_rows() const { return spec_.m.is_fixed() && spec_.m.factor <= plan_.dot_rows; }
  bool may_have_few_rows() const { return takes_dots() && !spec_.m.is_fixed(); }
  bool may_be_long() const { return (packs_b_ || copies_a_) && !spec_.k.is_fixed(); }

  // Returns whether a run has few rows or too long a reduction.
  Value* is_read_in_place() {
    Value* is_few = b_.ir().getFalse();
    Value* is_long = b_.ir().getFalse();
    if (may_have_few_rows())
      is_few = b_.ir().CreateICmpSLE(b_.value(spec_.m), b_.index(plan_.dot_rows));
    if (may_be_long()) is_long = b_.ir().CreateICmpSGT(b_.value(spec_.k), b_.index(capacity()));
    return b_.ir().CreateOr(is_few, is_long);
  }

  // Runs `emit` such that the code it writes reads A and B in place, in panels of one vector.
  void reading_in_place(const std::function<void()>& emit) {
    const ContractionPlan plan = std::exchange(plan_, make_nest_in_place().plan);
    const bool packs_b = std::exchange(packs_b_, false);
    const bool copies_a = std::exchange(copies_a_, false);
    is_in_place_ = true;
    emit();
    is_in_place_ = false;
    packs_b_ = packs_b;
    copies_a_ = copies_a;
    plan_ = plan;
  }

  TileFunctions emit_tiles(const ContractionNest& nest) {
    return {nest, [&](const TileShape& shape) { return emit_tile_function(shape); }};
  }

  void emit_loops(ContractionNest nest, const TileFunctions& tiles) {
    nest.enter = [&](Value* batch) { enter(batch); };
    if (packs_b_) nest.prepare_panels = [&](Value* panel, Value*) { pack_panel(panel); };
    nest.prepare_rows = [&](Value* row, Value* rows) { return prepare_rows(row, rows); };
    nest.call = [&](const TileShape& shape, Value* a, const ContractionNest::Place& place) {
      IrValues values = arguments(a, place);
      if (is_symbolic_) values.insert(values.end(), {b_.symbols(), place.active});
      b_.ir().CreateCall(tiles.of(shape), values);
    };
    emit_nest(b_, nest);
  }

  void begin(const std::string& entry) {
    b_.begin_kernel(entry);
    if (is_symbolic_) b_.set_symbols(b_.symbols_argument());
    c_ = b_.pointer_argument(0);
    a_ = b_.pointer_argument(1);
    bp_ = b_.pointer_argument(2);
    operands_ = b_.pointer_arguments(3, spec_.epilogue.operands.size());
    if (packs_b_) panel_buffer_ = b_.scratch();
    if (copies_a_) copies_ = b_.at(b_.scratch(), panel_bytes() / 4);
  }

  bool has_strided_columns() const {
    return !spec_.n.is_fixed_at(1) && !spec_.b_column_stride.is_fixed_at(1);
  }

  // Returns whether gaps separate the rows of B: such rows push each other out of the first cache,
  // from which several tiles would read them.
  bool has_far_rows() const {
    const bool fits = spec_.k.nominal * plan_.lanes * 4 <= b_.profile().scratch_limit;
    return fits && spec_.b_row_stride.nominal > spec_.n.nominal && spec_.m.nominal > 2 * plan_.rows;
  }

  bool in_pairs() const { return spec_.dtype == DType::kBF16; }
  // Returns the bytes of a panel in scratch for each reduction step.
  int64_t panel_step_bytes() const { return plan_.nr * (in_pairs() ? 2 : 4); }
  int64_t longest_panel() const { return b_.profile().scratch_limit / panel_step_bytes(); }

  // Returns the longest reduction that scratch has space for, as the kernel divides it.
  int64_t capacity() const {
    if (spec_.k.is_fixed()) return spec_.k.factor;
    if (!copies_a_) return longest_panel() - (in_pairs() ? longest_panel() % 2 : 0);
    const int64_t step_bytes = (packs_b_ ? panel_step_bytes() : 0) + plan_.rows * copied_.bytes();
    return std::max<int64_t>(b_.profile().scratch_limit / step_bytes - 2 * kCopyUnit, 0) / 2 * 2;
  }
  int64_t panel_bytes() const {
    const int64_t rows = in_pairs() ? (capacity() + 1) / 2 * 2 : capacity();
    return packs_b_ ? rows * panel_step_bytes() : 0;
  }

  // Returns the elements from one copied row of A to the next. The distance is no power of two,
  // which would put all rows into few cache sets.
  int64_t copy_stride() const {
    return (capacity() + kCopyUnit - 1) / kCopyUnit * kCopyUnit + kCopyUnit;
  }
  int64_t scratch_bytes() const {
    return panel_bytes() + (copies_a_ ? plan_.rows * copy_stride() * copied_.bytes() : 0);
  }

  // Decides whether the kernel copies A, row tile by row tile: halves are widened once for all
  // panels and not in each; where one instruction takes pairs of bf16, these must be neighbours.
  void choose_a() {
    if (has_few_rows()) return;
    const bool is_ready = copied_.dtype() == spec_.dtype &&
                          (spec_.dtype == DType::kF32 || spec_.a_k_stride.is_fixed_at(1));
    if (is_ready) return;
    if (spec_.b_packed && !spec_.k.is_fixed()) return;
    copies_a_ = true;
    copies_a_ = spec_.k.nominal <= capacity() && scratch_bytes() <= b_.profile().scratch_limit;
  }

  // Decides whether the kernel packs B. Such a panel must fit into scratch; narrower panels fit
  // longer reductions.
  void choose_b() {
    if (has_few_rows()) return;
    packs_b_ =
        !spec_.b_packed && !spec_.n.is_fixed_at(1) && (has_strided_columns() || has_far_rows());
    if (!packs_b_) return;
    while (spec_.k.nominal > longest_panel() && plan_.vectors > 1) {
      --plan_.vectors;
      plan_.nr = int64_t{plan_.lanes} * plan_.vectors;
    }
    packs_b_ = spec_.k.nominal <= longest_panel();
    plan_.panels = (spec_.n.nominal + plan_.nr - 1) / plan_.nr;
    plan_.panel_blocks = std::min(plan_.panel_blocks, plan_.panels);
    plan_.panel_group = 1;
    plan_.blocks =
        static_cast<uint32_t>(plan_.batch_blocks * plan_.row_blocks * plan_.panel_blocks);
  }

  llvm::Function* emit_tile_function(const TileShape& shape) {
    TileOutput output{{spec_.c_row_stride}, &spec_.epilogue, {}};
    for (const EpilogueOperand& operand : spec_.epilogue.operands)
      output.operand_rows.push_back({operand.row_stride, 0, 0});
    if (is_in_place_ && takes_dots()) {
      const DotOperands operands{spec_.k, spec_.b_column_stride, spec_.dtype, spec_.dtype};
      return emit_dot_tile(b_, "dots", shape, operands, output);
    }
    return emit_tile(b_, "tile", shape, make_reduction(), output);
  }

  TileReduction make_reduction() {
    TileReduction reduction;
    reduction.length = spec_.k;
    reduction.row_stride = copies_a_ ? Extent(copy_stride()) : spec_.a_row_stride;
    reduction.k_stride = copies_a_ ? Extent(1) : spec_.a_k_stride;
    reduction.a = copies_a_ ? copied_.dtype() : spec_.dtype;
    reduction.b = packs_b_ && !in_pairs() ? DType::kF32 : spec_.dtype;
    reduction.in_pairs = in_pairs();
    const bool is_direct = !spec_.b_packed && !packs_b_;
    reduction.b_stride = is_direct ? spec_.b_row_stride : plan_.nr;
    if (is_direct && has_strided_columns()) reduction.b_column_stride = spec_.b_column_stride;
    reduction.b_is_exact = is_direct;
    return reduction;
  }

  void enter(Value* entry) {
    const auto& batch = spec_.batch;
    a_entry_ = in_memory_.at(
        a_, emit_batch_offset(b_, spec_.batch, entry,
                              [&](size_t axis) -> const Extent& { return batch[axis].a_stride; }));
    b_entry_ = in_memory_.at(
        bp_, emit_batch_offset(b_, spec_.batch, entry,
                               [&](size_t axis) -> const Extent& { return batch[axis].b_stride; }));
    c_entry_ = stored_.at(
        c_, emit_batch_offset(b_, spec_.batch, entry,
                              [&](size_t axis) -> const Extent& { return batch[axis].c_stride; }));
    operand_entries_.clear();
    for (size_t n = 0; n < operands_.size(); ++n) {
      const auto& strides = spec_.epilogue.operands[n].batch_strides;
      Value* offset =
          strides.empty()
              ? b_.index(0)
              : emit_batch_offset(b_, spec_.batch, entry,
                                  [&](size_t axis) -> const Extent& { return strides[axis]; });
      operand_entries_.push_back(operand_elements(n).at(operands_[n], offset));
    }
  }

  Elements operand_elements(size_t n) { return {b_, spec_.epilogue.operand_dtype(n)}; }

  // Returns the address of A's rows as the tile function reads them.
  Value* prepare_rows(Value* row, Value* rows) {
    Value* first = in_memory_.at(a_entry_, b_.mul(row, spec_.a_row_stride));
    if (!copies_a_) return first;
    emit_row_copies(b_, in_memory_, {first, spec_.a_row_stride, spec_.a_k_stride, spec_.k}, rows,
                    copied_, copies_, copy_stride());
    return copies_;
  }

  void pack_panel(Value* panel) {
    Value* first = in_memory_.at(b_entry_, b_.mul(panel, spec_.b_column_stride * plan_.nr));
    const PanelSource source{
        first,    spec_.k,     spec_.b_row_stride, spec_.n, spec_.b_column_stride,
        plan_.nr, spec_.dtype, in_pairs()};
    emit_pack_panel(b_, source, panel, panel_buffer_);
  }

  // Returns the distance from the first of so many columns of B in place to the column after them.
  Value* b_columns(Value* columns) {
    return has_strided_columns() ? b_.mul(columns, spec_.b_column_stride) : columns;
  }

  // Returns the first element of a panel of B that is not in scratch.
  Value* b_panel(Value* panel) {
    if (!spec_.b_packed) return in_memory_.at(b_entry_, b_columns(b_.mul(panel, plan_.nr)));
    Value* rows = b_.value(spec_.k);
    if (in_pairs()) rows = b_.mul(b_.ceil_div(rows, b_.index(2)), 2);
    return in_memory_.at(b_entry_, b_.mul(panel, b_.mul(rows, plan_.nr)));
  }

  // Returns the first element of the column of a panel after so many.
  Value* column_of_panel(Value* bp, Value* columns) {
    if (!packs_b_ && !spec_.b_packed) return in_memory_.at(bp, b_columns(columns));
    const bool is_32_bits = in_pairs() || packs_b_ || spec_.dtype == DType::kF32;
    return is_32_bits ? b_.at(bp, columns) : in_memory_.at(bp, columns);
  }

  // Returns the arguments of the tile function.
  IrValues arguments(Value* a, const ContractionNest::Place& place) {
    Value* row = place.row;
    Value* first = b_.mul(place.panel, plan_.nr);
    Value* bp = column_of_panel(packs_b_ ? panel_buffer_ : b_panel(place.panel), place.column);
    Value* column = b_.add(first, place.column);
    Value* c = stored_.at(stored_.at(c_entry_, b_.mul(row, spec_.c_row_stride)), column);
    IrValues values = {a, bp, c, row};
    for (size_t n = 0; n < operand_entries_.size(); ++n) {
      Value* offset = b_.mul(column, spec_.epilogue.operands[n].column_stride);
      values.push_back(operand_elements(n).at(operand_entries_[n], offset));
    }
    return values;
  }

  const MatMulSpec& spec_;
  KernelBuilder b_;
  bool is_symbolic_;
  ContractionPlan plan_;
  Extent batch_ = 1;
  // The elements of A and B, of C, and of copied rows of A.
  Elements in_memory_, stored_, copied_;
  bool packs_b_ = false, copies_a_ = false, is_in_place_ = false;
  Value *a_ = nullptr, *bp_ = nullptr, *c_ = nullptr, *panel_buffer_ = nullptr, *copies_ = nullptr;
  Value *a_entry_ = nullptr, *b_entry_ = nullptr, *c_entry_ = nullptr;
  IrValues operands_, operand_entries_;
};

}  // namespace

Result<GeneratedKernel> generate_matmul(const MatMulSpec& spec, const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  return MatMulEmitter(spec, profile).emit();
}

}  // namespace sluice
