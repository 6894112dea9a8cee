// MatMul kernels address A and B by strides; B is packed beforehand, read in place, or packed into
// scratch panel by panel. A reduction whose length is known only when the kernel runs, and is then
// too long for a panel in scratch, makes the kernel read B in place. Fixed and symbolic kernels
// differ only in the loops around the tiles.
#include <algorithm>
#include <utility>

#include "stages/subgraph-optimize/codegen/contraction/contraction_nest.h"
#include "stages/subgraph-optimize/codegen/contraction/pack_emitter.h"
#include "stages/subgraph-optimize/codegen/contraction/symbolic_nest.h"
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
  return check_epilogue(spec.epilogue, spec.batch.size());
}

// Emits the tile functions (microkernel.h) and the nest around them (contraction_nest.h, for
// symbolic sizes symbolic_nest.h):
//
//   for entry in the block's batch entries:
//     for panels of nr columns, panel_group at a time:
//       where the kernel packs B: scratch[k][nr] = B[entry][k][panel], panel_group is 1
//       for tile of plan.rows rows:
//         for panel:
//           acc[rows][vectors] = 0
//           for k: acc[i][j] += A[entry][row + i][k] * B[entry][k][panel][j]
//           C[entry][row + i][panel][j] = epilogue(acc[i][j])
//
// A symbolic kernel that packs B contains a second nest that reads B in place, for long reductions.
class MatMulEmitter {
 public:
  MatMulEmitter(const MatMulSpec& spec, const DeviceProfile& profile)
      : spec_(spec),
        b_(profile),
        is_symbolic_(!is_fixed(spec)),
        plan_(choose_matmul_plan(spec, profile)) {
    for (const BatchAxis& axis : spec.batch) batch_ *= axis.size;
    choose_b();
  }

  Result<GeneratedKernel> emit() {
    const std::string entry = kernel_entry(canonical_text(spec_), b_.profile());
    if (is_symbolic_) return emit_symbolic(entry);
    return emit_fixed(entry);
  }

 private:
  Result<GeneratedKernel> emit_fixed(const std::string& entry) {
    ContractionNest nest;
    nest.rows = spec_.m.factor;
    nest.columns = spec_.n.factor;
    nest.batch = batch_.factor;
    nest.plan = plan_;
    const TileFunctions tiles = emit_tile_functions(
        nest, [&](const TileShape& shape) { return emit_tile_function(shape); });
    begin(entry);
    nest.enter = [&](Value* batch) { enter(batch); };
    if (packs_b_) nest.prepare_panels = [&](Value* panel, Value*) { pack_panel(panel); };
    nest.prepare_rows = [&](Value* tile, int) {
      return b_.at(a_entry_, b_.mul(tile, plan_.rows * spec_.a_row_stride.factor));
    };
    nest.call = [&](Value* a, Value* tile, Value* panel, bool row_remainder,
                    bool column_remainder) {
      b_.ir().CreateCall(tiles[row_remainder][column_remainder],
                         arguments(a, b_.mul(tile, plan_.rows), panel, nullptr));
    };
    emit_nest(b_, nest);
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    kernel.blocks = plan_.blocks;
    kernel.scratch_bytes = packs_b_ ? static_cast<uint64_t>(spec_.k.factor * plan_.nr * 4) : 0;
    kernel.multiply_adds = batch_ * spec_.m * spec_.n * spec_.k;
    return kernel;
  }

  Result<GeneratedKernel> emit_symbolic(const std::string& entry) {
    const SymbolicNest nest = make_nest();
    const SymbolicTiles tiles = emit_symbolic_tiles(nest);
    const bool may_be_long = packs_b_ && !spec_.k.is_fixed();
    const SymbolicNest in_place = make_nest_in_place();
    SymbolicTiles tiles_in_place;
    if (may_be_long) reading_in_place([&] { tiles_in_place = emit_symbolic_tiles(in_place); });
    begin(entry);
    if (may_be_long) {
      Value* fits = b_.ir().CreateICmpSLE(b_.value(spec_.k), b_.index(longest_panel()));
      b_.if_else(
          fits, [&] { emit_symbolic_nest(nest, tiles); },
          [&] { reading_in_place([&] { emit_symbolic_nest(in_place, tiles_in_place); }); });
    } else {
      emit_symbolic_nest(nest, tiles);
    }
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry, {.knows_target = true}));
    set_launch(nest, kernel);
    if (packs_b_)
      kernel.scratch_bytes =
          static_cast<uint64_t>((may_be_long ? longest_panel() : spec_.k.factor) * plan_.nr * 4);
    return kernel;
  }

  using SymbolicTiles = std::vector<std::pair<TileShape, llvm::Function*>>;

  SymbolicNest make_nest() const {
    SymbolicNest nest;
    nest.rows = spec_.m;
    nest.columns = spec_.n;
    nest.reduction = spec_.k;
    nest.batch = batch_;
    nest.plan = plan_;
    nest.panels_are_dear = packs_b_;
    return nest;
  }

  // Makes a nest with few tile functions, since such reductions are rare.
  SymbolicNest make_nest_in_place() const {
    SymbolicNest nest = make_nest();
    nest.plan.vectors = 1;
    nest.plan.nr = plan_.lanes;
    nest.plan.rows = std::min(plan_.rows, 8);
    nest.has_many_rows = true;
    nest.panels_are_dear = false;
    return nest;
  }

  // Runs `emit` such that the code it writes reads B in place, in panels of one vector.
  void reading_in_place(const std::function<void()>& emit) {
    const ContractionPlan plan = std::exchange(plan_, make_nest_in_place().plan);
    packs_b_ = false;
    emit();
    packs_b_ = true;
    plan_ = plan;
  }

  SymbolicTiles emit_symbolic_tiles(const SymbolicNest& nest) {
    SymbolicTiles tiles;
    for (const TileShape& shape : nest_tile_shapes(nest, b_.has_masks()))
      tiles.emplace_back(shape, emit_tile_function(shape));
    return tiles;
  }

  void emit_symbolic_nest(SymbolicNest nest, const SymbolicTiles& tiles) {
    nest.enter = [&](Value* batch) { enter(batch); };
    if (packs_b_) nest.prepare_panel = [&](Value* panel) { pack_panel(panel); };
    nest.prepare_rows = [&](Value* row, Value*) {
      return b_.at(a_entry_, b_.mul(row, spec_.a_row_stride));
    };
    nest.call = [&](const TileShape& shape, Value* a, const SymbolicNest::Place& place) {
      IrValues values = arguments(a, place.row, place.panel, place.column);
      values.insert(values.end(), {b_.symbols(), place.active});
      const auto tile = std::find_if(tiles.begin(), tiles.end(),
                                     [&](const auto& known) { return known.first == shape; });
      b_.ir().CreateCall(tile->second, values);
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

  int64_t longest_panel() const { return b_.profile().scratch_limit / (plan_.nr * 4); }

  // Decides whether the kernel packs B. Such a panel must fit into scratch; narrower panels fit
  // longer reductions.
  void choose_b() {
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
    TileReduction reduction;
    reduction.length = spec_.k;
    reduction.row_stride = spec_.a_row_stride;
    reduction.k_stride = spec_.a_k_stride;
    const bool is_direct = !spec_.b_packed && !packs_b_;
    reduction.b_stride = is_direct ? spec_.b_row_stride : plan_.nr;
    if (is_direct && has_strided_columns()) reduction.b_column_stride = spec_.b_column_stride;
    reduction.b_is_exact = is_direct;
    TileOutput output{spec_.c_row_stride, &spec_.epilogue, {}};
    for (const EpilogueOperand& operand : spec_.epilogue.operands)
      output.operand_rows.push_back({operand.row_stride, 0, 0});
    return emit_tile(b_, "tile", shape, reduction, output);
  }

  // Returns the offset of a batch entry in an operand whose stride along an axis is stride(axis).
  Value* batch_offset(Value* entry, const std::function<const Extent&(size_t axis)>& stride) {
    Value* offset = b_.index(0);
    Value* remainder = entry;
    for (size_t axis = spec_.batch.size(); axis-- > 0;) {
      if (spec_.batch[axis].size.is_fixed_at(1)) continue;
      Value* size = b_.value(spec_.batch[axis].size);
      offset = b_.add(offset, b_.mul(b_.mod(remainder, size), stride(axis)));
      remainder = b_.div(remainder, size);
    }
    return offset;
  }

  void enter(Value* entry) {
    const auto& batch = spec_.batch;
    a_entry_ = b_.at(a_, batch_offset(entry, [&](size_t axis) -> const Extent& {
                       return batch[axis].a_stride;
                     }));
    b_entry_ = b_.at(bp_, batch_offset(entry, [&](size_t axis) -> const Extent& {
                       return batch[axis].b_stride;
                     }));
    c_entry_ = b_.at(c_, batch_offset(entry, [&](size_t axis) -> const Extent& {
                       return batch[axis].c_stride;
                     }));
    operand_entries_.clear();
    for (size_t n = 0; n < operands_.size(); ++n) {
      const auto& strides = spec_.epilogue.operands[n].batch_strides;
      Value* offset =
          strides.empty()
              ? b_.index(0)
              : batch_offset(entry, [&](size_t axis) -> const Extent& { return strides[axis]; });
      operand_entries_.push_back(b_.at(operands_[n], offset));
    }
  }

  void pack_panel(Value* panel) {
    const PanelSource source{b_.at(b_entry_, b_.mul(panel, spec_.b_column_stride * plan_.nr)),
                             spec_.k,
                             spec_.b_row_stride,
                             spec_.n,
                             spec_.b_column_stride,
                             plan_.nr};
    emit_pack_panel(b_, source, panel, panel_buffer_);
  }

  // Returns the distance from the first of so many columns of B in place to the column after them.
  Value* b_columns(Value* columns) {
    return has_strided_columns() ? b_.mul(columns, spec_.b_column_stride) : columns;
  }

  // Returns the arguments of the tile function; in_panel: columns of the panel before the tile,
  // null for none.
  IrValues arguments(Value* a, Value* row, Value* panel, Value* in_panel) {
    Value* column = b_.mul(panel, plan_.nr);
    Value* bp = panel_buffer_;
    if (!packs_b_)
      bp = b_.at(b_entry_, spec_.b_packed ? b_.mul(panel, spec_.k * plan_.nr) : b_columns(column));
    if (in_panel != nullptr) {
      column = b_.add(column, in_panel);
      bp = b_.at(bp, packs_b_ || spec_.b_packed ? in_panel : b_columns(in_panel));
    }
    IrValues values = {a, bp, b_.at(b_.at(c_entry_, b_.mul(row, spec_.c_row_stride)), column), row};
    for (size_t n = 0; n < operand_entries_.size(); ++n) {
      values.push_back(
          b_.at(operand_entries_[n], b_.mul(column, spec_.epilogue.operands[n].column_stride)));
    }
    return values;
  }

  const MatMulSpec& spec_;
  KernelBuilder b_;
  bool is_symbolic_;
  ContractionPlan plan_;
  Extent batch_ = 1;
  bool packs_b_ = false;
  Value *a_ = nullptr, *bp_ = nullptr, *c_ = nullptr, *panel_buffer_ = nullptr;
  Value *a_entry_ = nullptr, *b_entry_ = nullptr, *c_entry_ = nullptr;
  IrValues operands_, operand_entries_;
};

}  // namespace

Result<GeneratedKernel> generate_matmul(const MatMulSpec& spec, const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  return MatMulEmitter(spec, profile).emit();
}

}  // namespace sluice
