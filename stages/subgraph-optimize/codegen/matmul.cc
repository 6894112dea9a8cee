// MatMul kernels: A and B are addressed by constant strides; B is packed beforehand, read where it lies, or packed into scratch panel by
// panel.
#include <algorithm>

#include "stages/subgraph-optimize/codegen/contraction_nest.h"
#include "stages/subgraph-optimize/codegen/object_emitter.h"
#include "stages/subgraph-optimize/codegen/pack_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

Result<void> check(const MatMulSpec& spec) {
  if (spec.m.nominal < 1 || spec.n.nominal < 1 || spec.k.nominal < 1) {
    return make_error(ErrorCode::kCodegen, "matmul of size {}x{}x{}: every size must be at least 1", spec.m.nominal, spec.k.nominal,
                      spec.n.nominal);
  }
  if (spec.batch.size() > 6) return make_error(ErrorCode::kCodegen, "matmul has {} batch axes, at most 6 are possible", spec.batch.size());
  for (const BatchAxis& axis : spec.batch) {
    if (axis.size.nominal < 1) return make_error(ErrorCode::kCodegen, "matmul has a batch axis of size {}", axis.size.nominal);
  }
  return check_epilogue(spec.epilogue, spec.batch.size());
}

class MatMulEmitter {
 public:
  MatMulEmitter(const MatMulSpec& spec, const DeviceProfile& profile) : spec_(spec), b_(profile) {
    nest_.rows = spec.m.nominal;
    nest_.columns = spec.n.nominal;
    for (const BatchAxis& axis : spec.batch) nest_.batch *= axis.size.nominal;
    nest_.plan = choose_matmul_plan(spec, profile);
  }

  Result<GeneratedKernel> emit() {
    SLUICE_TRY(choose_b());
    const std::string entry = kernel_entry(canonical_text(spec_), b_.profile());
    for (bool row_tail : {false, true}) {
      if (row_tail && !has_row_tail(nest_)) continue;
      for (bool column_tail : {false, true}) emit_tile_function(row_tail, column_tail);
    }
    b_.begin_kernel(entry);
    c_ = b_.pointer_argument(0);
    a_ = b_.pointer_argument(1);
    bp_ = b_.pointer_argument(2);
    for (size_t n = 0; n < spec_.epilogue.operands.size(); ++n) operands_.push_back(b_.pointer_argument(static_cast<int>(3 + n)));
    if (packs_b_) panel_buffer_ = b_.scratch();
    nest_.enter = [&](Value* batch) { enter(batch); };
    if (packs_b_) nest_.prepare_panels = [&](Value* panel, Value*) { pack_panel(panel); };
    nest_.prepare_rows = [&](Value* tile, int) { return b_.at(a_entry_, b_.mul(tile, nest_.plan.rows * spec_.a_row_stride.nominal)); };
    nest_.call = [&](Value* a, Value* tile, Value* panel, bool row_tail, bool column_tail) { call(a, tile, panel, row_tail, column_tail); };
    emit_nest(b_, nest_);
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    kernel.blocks = nest_.plan.blocks;
    kernel.scratch_bytes = packs_b_ ? static_cast<uint64_t>(spec_.k.nominal * nest_.plan.nr * 4) : 0;
    kernel.multiply_adds = nest_.batch * spec_.m.nominal * spec_.n.nominal * spec_.k.nominal;
    return kernel;
  }

 private:
  // A panel that is packed by the kernel must fit into scratch; narrower panels fit longer reductions.
  Result<void> choose_b() {
    packs_b_ = !spec_.b_packed && spec_.b_column_stride.nominal != 1 && spec_.n.nominal > 1;
    if (!packs_b_) return {};
    ContractionPlan& plan = nest_.plan;
    while (spec_.k.nominal * plan.nr * 4 > b_.profile().scratch_limit && plan.vectors > 1) {
      --plan.vectors;
      plan.nr = int64_t{plan.lanes} * plan.vectors;
    }
    if (spec_.k.nominal * plan.nr * 4 > b_.profile().scratch_limit) {
      return make_error(ErrorCode::kNotLowerable, "matmul with k = {} and a strided B needs more than {} bytes of scratch", spec_.k.nominal,
                        b_.profile().scratch_limit)
          .with_hint("pack B with its own kernel first");
    }
    plan.panels = (spec_.n.nominal + plan.nr - 1) / plan.nr;
    plan.panel_blocks = std::min(plan.panel_blocks, plan.panels);
    plan.panel_group = 1;
    plan.blocks = static_cast<uint32_t>(plan.batch_blocks * plan.row_blocks * plan.panel_blocks);
    return {};
  }

  void emit_tile_function(bool row_tail, bool column_tail) {
    if (column_tail ? !has_column_tail(nest_) : nest_.columns < nest_.plan.nr) return;
    TileReduction reduction;
    reduction.length = spec_.k.nominal;
    reduction.row_stride = spec_.a_row_stride.nominal;
    reduction.k_stride = spec_.a_k_stride.nominal;
    const bool is_direct = !spec_.b_packed && !packs_b_;
    reduction.b_stride = is_direct ? spec_.b_row_stride.nominal : nest_.plan.nr;
    reduction.b_is_exact = is_direct;
    TileOutput output{spec_.c_row_stride.nominal, &spec_.epilogue, {}};
    for (const EpilogueOperand& operand : spec_.epilogue.operands) output.operand_rows.push_back({operand.row_stride.nominal, 0, 0});
    tiles_[row_tail][column_tail] = emit_tile(b_, "tile", nest_tile_shape(nest_, row_tail, column_tail), reduction, output);
  }

  // Offset of a batch entry in an operand whose strides `stride` answers per axis.
  Value* batch_offset(Value* entry, const std::function<int64_t(size_t axis)>& stride) {
    Value* offset = b_.index(0);
    Value* rest = entry;
    for (size_t axis = spec_.batch.size(); axis-- > 0;) {
      if (spec_.batch[axis].size.nominal == 1) continue;
      offset = b_.add(offset, b_.mul(b_.mod(rest, spec_.batch[axis].size.nominal), stride(axis)));
      rest = b_.div(rest, spec_.batch[axis].size.nominal);
    }
    return offset;
  }

  void enter(Value* entry) {
    a_entry_ = b_.at(a_, batch_offset(entry, [&](size_t axis) { return spec_.batch[axis].a_stride.nominal; }));
    b_entry_ = b_.at(bp_, batch_offset(entry, [&](size_t axis) { return spec_.batch[axis].b_stride.nominal; }));
    c_entry_ = b_.at(c_, batch_offset(entry, [&](size_t axis) { return spec_.batch[axis].c_stride.nominal; }));
    operand_entries_.clear();
    for (size_t n = 0; n < operands_.size(); ++n) {
      const auto& strides = spec_.epilogue.operands[n].batch_strides;
      Value* offset = strides.empty() ? b_.index(0) : batch_offset(entry, [&](size_t axis) { return strides[axis].nominal; });
      operand_entries_.push_back(b_.at(operands_[n], offset));
    }
  }

  void pack_panel(Value* panel) {
    const PanelSource source{b_.at(b_entry_, b_.mul(panel, nest_.plan.nr * spec_.b_column_stride.nominal)),
                             {{spec_.k.nominal, spec_.b_row_stride.nominal}},
                             {spec_.n.nominal, spec_.b_column_stride.nominal},
                             nest_.plan.nr};
    emit_pack_panel(b_, source, panel, panel_buffer_);
  }

  void call(Value* a, Value* tile, Value* panel, bool row_tail, bool column_tail) {
    Value* row = b_.mul(tile, nest_.plan.rows);
    Value* column = b_.mul(panel, nest_.plan.nr);
    Value* bp = panel_buffer_;
    if (!packs_b_) bp = b_.at(b_entry_, spec_.b_packed ? b_.mul(panel, nest_.plan.nr * spec_.k.nominal) : column);
    IrValues arguments = {a, bp, b_.at(b_.at(c_entry_, b_.mul(row, spec_.c_row_stride.nominal)), column), row};
    for (size_t n = 0; n < operand_entries_.size(); ++n) {
      arguments.push_back(b_.at(operand_entries_[n], b_.mul(column, spec_.epilogue.operands[n].column_stride.nominal)));
    }
    b_.ir().CreateCall(tiles_[row_tail][column_tail], arguments);
  }

  const MatMulSpec& spec_;
  KernelBuilder b_;
  ContractionNest nest_;
  bool packs_b_ = false;
  llvm::Function* tiles_[2][2] = {};
  Value *a_ = nullptr, *bp_ = nullptr, *c_ = nullptr, *panel_buffer_ = nullptr;
  Value *a_entry_ = nullptr, *b_entry_ = nullptr, *c_entry_ = nullptr;
  IrValues operands_, operand_entries_;
};

}  // namespace

Result<GeneratedKernel> generate_matmul(const MatMulSpec& spec, const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  if (!is_fixed(spec)) return make_error(ErrorCode::kNotLowerable, "matmul of symbolic sizes");
  return MatMulEmitter(spec, profile).emit();
}

}  // namespace sluice
