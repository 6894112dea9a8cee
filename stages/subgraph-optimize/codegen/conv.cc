// Conv kernels: an implicit matrix product (rows: output pixels of all images; columns: output channels of one group) on the same tiles as
// MatMul.
#include "stages/subgraph-optimize/codegen/contraction_nest.h"
#include "stages/subgraph-optimize/codegen/conv_rows.h"
#include "stages/subgraph-optimize/codegen/object_emitter.h"
#include "stages/subgraph-optimize/codegen/plan.h"

namespace sluice {
namespace {

using llvm::Value;

Result<void> check(const ConvSpec& s) {
  for (int64_t size : {s.n.nominal, s.h.nominal, s.w.nominal, s.ci, s.oh.nominal, s.ow.nominal, s.co, s.kh, s.kw, s.stride_h, s.stride_w,
                       s.dilation_h, s.dilation_w, s.groups}) {
    if (size < 1) return make_error(ErrorCode::kCodegen, "conv has a size, stride or dilation of {}, at least 1 is needed", size);
  }
  if (s.ci % s.groups != 0 || s.co % s.groups != 0) {
    return make_error(ErrorCode::kCodegen, "conv with {} groups: {} input and {} output channels cannot be divided", s.groups, s.ci, s.co);
  }
  if ((s.x_pixel_stride != 0 && s.x_pixel_stride < s.ci) || (s.y_pixel_stride != 0 && s.y_pixel_stride < s.co)) {
    return make_error(ErrorCode::kCodegen, "conv with pixel strides {} and {} is too narrow for {} and {} channels", s.x_pixel_stride,
                      s.y_pixel_stride, s.ci, s.co);
  }
  return check_epilogue(s.epilogue, 1);
}

class ConvEmitter {
 public:
  ConvEmitter(const ConvSpec& spec, const DeviceProfile& profile)
      : s_(spec), b_(profile), way_(choose_conv_rows(spec)), y_stride_(spec.y_pixel_stride != 0 ? spec.y_pixel_stride : spec.co) {
    nest_.batch = s_.groups;
    nest_.rows = s_.n.nominal * s_.oh.nominal * s_.ow.nominal;
    nest_.columns = s_.co / s_.groups;
    nest_.plan = choose_conv_plan(spec, profile);
  }

  Result<GeneratedKernel> emit() {
    const uint64_t scratch = conv_row_scratch(s_, way_, nest_.plan.rows);
    if (scratch > static_cast<uint64_t>(b_.profile().scratch_limit)) {
      return make_error(ErrorCode::kNotLowerable, "conv with a {}x{} kernel needs {} bytes of scratch, the device has {}", s_.kh, s_.kw,
                        scratch, b_.profile().scratch_limit);
    }
    const std::string entry = kernel_entry(canonical_text(s_), b_.profile());
    for (bool row_tail : {false, true}) {
      if (row_tail && !has_row_tail(nest_)) continue;
      for (bool column_tail : {false, true}) emit_tile_function(row_tail, column_tail);
    }
    b_.begin_kernel(entry);
    y_ = b_.pointer_argument(0);
    x_ = b_.pointer_argument(1);
    weights_ = b_.pointer_argument(2);
    for (size_t n = 0; n < s_.epilogue.operands.size(); ++n) operands_.push_back(b_.pointer_argument(static_cast<int>(3 + n)));
    nest_.enter = [&](Value* group) { enter(group); };
    nest_.prepare_rows = [&](Value* tile, int rows) {
      return emit_conv_rows(b_, s_, way_, x_group_, b_.mul(tile, nest_.plan.rows), rows, nest_.plan.rows);
    };
    nest_.call = [&](Value* a, Value* tile, Value* panel, bool row_tail, bool column_tail) { call(a, tile, panel, row_tail, column_tail); };
    emit_nest(b_, nest_);
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    kernel.blocks = nest_.plan.blocks;
    kernel.scratch_bytes = scratch;
    kernel.multiply_adds = s_.groups * nest_.rows * nest_.columns * reduction();
    return kernel;
  }

 private:
  int64_t reduction() const { return s_.kh * s_.kw * (s_.ci / s_.groups); }

  void emit_tile_function(bool row_tail, bool column_tail) {
    if (column_tail ? !has_column_tail(nest_) : nest_.columns < nest_.plan.nr) return;
    const TileReduction reduction = conv_reduction(s_, way_, nest_.plan.rows, nest_.plan.nr);
    TileOutput output{y_stride_, &s_.epilogue, {}};
    for (const EpilogueOperand& operand : s_.epilogue.operands) {
      const bool has_images = !operand.batch_strides.empty();
      output.operand_rows.push_back(
          {operand.row_stride.nominal, has_images ? operand.batch_strides[0].nominal : 0, has_images ? s_.oh.nominal * s_.ow.nominal : 0});
    }
    tiles_[row_tail][column_tail] = emit_tile(b_, "tile", nest_tile_shape(nest_, row_tail, column_tail), reduction, output);
  }

  void enter(Value* group) {
    x_group_ = b_.at(x_, b_.mul(group, s_.ci / s_.groups));
    weights_group_ = b_.at(weights_, b_.mul(group, nest_.plan.panels * nest_.plan.nr * reduction()));
    first_channel_ = b_.mul(group, nest_.columns);
  }

  void call(Value* a, Value* tile, Value* panel, bool row_tail, bool column_tail) {
    Value* row = b_.mul(tile, nest_.plan.rows);
    Value* channel = b_.add(first_channel_, b_.mul(panel, nest_.plan.nr));
    Value* weights = b_.at(weights_group_, b_.mul(panel, nest_.plan.nr * reduction()));
    IrValues arguments = {a, weights, b_.at(b_.at(y_, b_.mul(row, y_stride_)), channel), row};
    for (size_t n = 0; n < operands_.size(); ++n) {
      arguments.push_back(b_.at(operands_[n], b_.mul(channel, s_.epilogue.operands[n].column_stride.nominal)));
    }
    b_.ir().CreateCall(tiles_[row_tail][column_tail], arguments);
  }

  const ConvSpec& s_;
  KernelBuilder b_;
  ConvRows way_;
  int64_t y_stride_;
  ContractionNest nest_;
  llvm::Function* tiles_[2][2] = {};
  Value *x_ = nullptr, *y_ = nullptr, *weights_ = nullptr;
  Value *x_group_ = nullptr, *weights_group_ = nullptr, *first_channel_ = nullptr;
  IrValues operands_;
};

}  // namespace

ContractionPlan choose_conv_plan(const ConvSpec& s, const DeviceProfile& profile) {
  constexpr double kCyclesPerPointer = 2;
  constexpr double kCyclesPerRun = 6;
  const ConvRows way = choose_conv_rows(s);
  ContractionSize size;
  size.rows = s.n.nominal * s.oh.nominal * s.ow.nominal;
  size.columns = s.co / s.groups;
  size.reduction = s.kh * s.kw * (s.ci / s.groups);
  size.batch = s.groups;
  if (way == ConvRows::kDirect) size.row_bytes = conv_pixel_stride(s) * 4;
  if (way == ConvRows::kPointers) size.row_bytes = s.stride_w * conv_pixel_stride(s) * 4;
  if (way == ConvRows::kPointers) size.row_cycles = kCyclesPerPointer * static_cast<double>(s.kh * s.kw);
  if (way == ConvRows::kCopied)
    size.row_cycles = static_cast<double>(s.kh) * (kCyclesPerRun + static_cast<double>(s.kw * s.ci / s.groups) / 4);
  return choose_plan(size, profile);
}

Result<GeneratedKernel> generate_conv(const ConvSpec& spec, const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  if (!is_fixed(spec)) return make_error(ErrorCode::kNotLowerable, "conv of symbolic sizes");
  return ConvEmitter(spec, profile).emit();
}

}  // namespace sluice
