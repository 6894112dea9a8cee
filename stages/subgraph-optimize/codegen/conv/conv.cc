// Conv kernels are an implicit matrix product (rows: output pixels of all images; columns: output
// channels of one group) on the same tiles and in the same loops as MatMul.
#include "stages/subgraph-optimize/codegen/contraction/nest.h"
#include "stages/subgraph-optimize/codegen/contraction/plan.h"
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/conv/conv_rows.h"
#include "stages/subgraph-optimize/codegen/conv/phase_places.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

Result<void> check(const ConvSpec& s) {
  SLUICE_TRY(check_conv(s));
  if ((s.x_pixel_stride != 0 && s.x_pixel_stride < s.ci) ||
      (s.y_pixel_stride != 0 && s.y_pixel_stride < result_channels(s))) {
    return make_error(ErrorCode::kCodegen,
                      "conv with pixel strides {} and {} is too narrow for {} and {} channels",
                      s.x_pixel_stride, s.y_pixel_stride, s.ci, s.co);
  }
  if (s.phases.count() > 1 && (is_3d(s) || s.stride_h != 1 || s.stride_w != 1)) {
    return make_error(ErrorCode::kCodegen, "conv with {} phases and a depth or strides",
                      s.phases.count());
  }
  if (!is_operand_dtype(s.dtype))
    return make_error(ErrorCode::kCodegen, "conv of {}", dtype_name(s.dtype));
  return check_epilogue(s.epilogue, 1);
}

bool fits_scratch(uint64_t bytes, const DeviceProfile& profile) {
  return bytes <= static_cast<uint64_t>(profile.scratch_limit);
}

// Returns the implicit matrix product at nominal sizes.
ContractionSize contraction_size(const ConvSpec& s, ConvRows strategy,
                                 const DeviceProfile& profile) {
  constexpr double kCyclesPerPointer = 2;
  ContractionSize size;
  size.rows = (s.n * output_pixels(s)).nominal;
  size.columns = result_channels(s) / s.groups;
  size.reduction = kernel_positions(s) * (s.ci / s.groups);
  size.batch = s.groups * s.phases.count();
  size.operands = tile_operands(s.dtype, profile);
  size.element_bytes = s.dtype == DType::kF32 ? 4 : 2;
  size.prepared = conv_prepared_rows(s, strategy, profile);
  if (strategy == ConvRows::kPointers)
    size.row_cycles = kCyclesPerPointer * static_cast<double>(kernel_positions(s));
  if (size.prepared.bytes > 0) return size;
  if (strategy == ConvRows::kDirect) size.row_bytes = conv_pixel_stride(s) * 4;
  if (strategy == ConvRows::kPointers) size.row_bytes = s.stride_w * conv_pixel_stride(s) * 4;
  return size;
}

// Returns as many row tiles as are planned for a chunk and have capacity in the scratch.
int64_t fitting_chunk_tiles(const ConvSpec& s, ConvRows strategy, const ContractionPlan& plan,
                            const DeviceProfile& profile) {
  const ContractionSize size = contraction_size(s, strategy, profile);
  if (size.prepared.bytes == 0) return 1;
  int64_t tiles = choose_chunk_tiles(size, plan, profile);
  while (tiles > 1 &&
         !fits_scratch(conv_row_scratch(s, strategy, plan.rows, tiles, profile), profile))
    --tiles;
  return tiles;
}

// Emits the tile functions (microkernel.h) and the nest around them (nest.h):
//
//   for group, or phase of one, in the block's:
//     for chunk of the block's output pixels: copies or widens what it reads (conv_rows.h)
//       for panels of nr output channels, panel_group at a time:
//         for tile of plan.rows output pixels, over ends of rows, planes and images:
//           a = rows of the implicit matrix: x itself, pointers or the chunk's copies
//           for panel:
//             acc[rows][vectors] = 0
//             for k in (kd, kh, kw, ci): acc[i][j] += a[i][k] * w[group][panel][k][j]
//             y[row + i][panel][j] = epilogue(acc[i][j])
class ConvEmitter {
 public:
  ConvEmitter(const ConvSpec& spec, const DeviceProfile& profile)
      : s_(spec),
        b_(profile),
        in_memory_(b_, spec.dtype),
        strategy_(choose_conv_rows(spec, profile)),
        y_stride_(spec.y_pixel_stride != 0 ? spec.y_pixel_stride : result_channels(spec)),
        plan_(choose_conv_plan(spec, profile)),
        chunk_tiles_(fitting_chunk_tiles(spec, strategy_, plan_, profile)) {}

  Result<GeneratedKernel> emit() {
    const uint64_t scratch =
        conv_row_scratch(s_, strategy_, plan_.rows, chunk_tiles_, b_.profile());
    if (!fits_scratch(scratch, b_.profile())) {
      return make_error(
          ErrorCode::kNotLowerable,
          "conv with {} kernel positions needs {} bytes of scratch, the device has {}",
          kernel_positions(s_), scratch, b_.profile().scratch_limit);
    }
    const std::string entry = kernel_entry(canonical_text(s_), b_.profile());
    ContractionNest nest = make_nest();
    const TileFunctions tiles(nest,
                              [&](const TileShape& shape) { return emit_tile_function(shape); });
    begin(entry);
    nest.enter = [&](Value* group) { enter(group); };
    if (conv_prepared_rows(s_, strategy_, b_.profile()).bytes > 0)
      nest.prepare_chunk = [&](Value* row, Value* rows) { prepare_chunk(row, rows); };
    nest.prepare_rows = [&](Value* row, Value* rows) { return prepare_rows(row, rows); };
    nest.call = [&](const TileShape& shape, Value* a, const ContractionNest::Place& place) {
      IrValues values = arguments(a, place.row, place.panel);
      if (nest.is_symbolic) values.insert(values.end(), {b_.symbols(), place.active});
      b_.ir().CreateCall(tiles.of(shape), values);
    };
    emit_nest(b_, nest);
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry, {.knows_target = nest.is_symbolic}));
    set_launch(nest, b_.profile(), kernel);
    kernel.scratch_bytes = scratch;
    return kernel;
  }

 private:
  bool has_phases() const { return s_.phases.count() > 1; }
  // Returns the channels that one batch entry of the nest computes.
  int64_t entry_channels() const { return result_channels(s_) / s_.groups; }
  int64_t reduction() const { return kernel_positions(s_) * (s_.ci / s_.groups); }

  ContractionNest make_nest() const {
    ContractionNest nest;
    nest.has_masked_tiles = b_.has_masks();
    nest.batch = s_.groups * s_.phases.count();
    nest.rows = s_.n * output_pixels(s_), nest.columns = entry_channels();
    nest.reduction = reduction(), nest.plan = plan_, nest.chunk_tiles = chunk_tiles_;
    nest.is_symbolic = !is_fixed(s_);
    nest.has_many_rows = true;
    return nest;
  }

  void begin(const std::string& entry) {
    b_.begin_kernel(entry);
    if (!is_fixed(s_)) b_.set_symbols(b_.symbols_argument());
    y_ = b_.pointer_argument(0);
    x_ = b_.pointer_argument(1);
    weights_ = b_.pointer_argument(2);
    operands_ = b_.pointer_arguments(3, s_.epilogue.operands.size());
  }

  llvm::Function* emit_tile_function(const TileShape& shape) {
    const TileReduction reduction =
        conv_reduction(s_, strategy_, plan_.rows, plan_.nr, b_.profile());
    TileOutput output{y_rows(), &s_.epilogue, {}};
    for (const EpilogueOperand& operand : s_.epilogue.operands) {
      const bool has_images = !operand.batch_strides.empty();
      output.operand_rows.push_back({operand.row_stride, has_images ? operand.batch_strides[0] : 0,
                                     has_images ? output_pixels(s_) : 0});
    }
    return emit_tile(b_, "tile", shape, reduction, output);
  }

  // The pixels of a phase lie in every phases.h-th row of the result.
  TileRows y_rows() const {
    if (!has_phases()) return {y_stride_};
    return {s_.phases.w * y_stride_, s_.ow * (s_.phases.count() * y_stride_), s_.ow};
  }

  void enter(Value* entry) {
    Value* group = has_phases() ? b_.div(entry, s_.phases.count()) : entry;
    x_group_ = in_memory_.at(x_, b_.mul(group, s_.ci / s_.groups));
    rows_ = x_group_;
    weights_group_ = in_memory_.at(weights_, b_.mul(entry, plan_.panels * plan_.nr * reduction()));
    first_channel_ = b_.mul(group, entry_channels());
    if (has_phases()) enter_phase(b_.mod(entry, s_.phases.count()));
  }

  void enter_phase(Value* phase) {
    const ConvPhases& p = s_.phases;
    const auto [top, row] = find_phase(b_, b_.div(phase, p.w), p.h, p.cut_top);
    const auto [left, column] = find_phase(b_, b_.mod(phase, p.w), p.w, p.cut_left);
    shift_ = {top, left};
    Value* pixel = b_.add(b_.mul(row, s_.ow * p.w), column);
    y_phase_ = Elements(b_, s_.epilogue.stored(DType::kF32)).at(y_, b_.mul(pixel, y_stride_));
  }

  void prepare_chunk(Value* first, Value* rows) {
    rows_ = emit_conv_chunk(b_, s_, strategy_, {x_group_, first, rows, shift_}, plan_.rows);
  }

  Value* prepare_rows(Value* first, Value* rows) {
    return emit_conv_rows(b_, s_, strategy_, {rows_, first, rows, shift_}, plan_.rows);
  }

  IrValues arguments(Value* a, Value* row, Value* panel) {
    Value* channel = b_.add(first_channel_, b_.mul(panel, plan_.nr));
    Value* weights = in_memory_.at(weights_group_, b_.mul(panel, plan_.nr * reduction()));
    Elements stored(b_, s_.epilogue.stored(DType::kF32));
    Value* y = has_phases() ? y_phase_ : stored.at(y_, b_.mul(row, y_stride_));
    IrValues values = {a, weights, stored.at(y, channel), row};
    for (size_t n = 0; n < operands_.size(); ++n) {
      Elements operand(b_, s_.epilogue.operand_dtype(n));
      values.push_back(
          operand.at(operands_[n], b_.mul(channel, s_.epilogue.operands[n].column_stride)));
    }
    return values;
  }

  const ConvSpec& s_;
  KernelBuilder b_;
  Elements in_memory_;  // x and the weights
  ConvRows strategy_;
  int64_t y_stride_;
  ContractionPlan plan_;
  int64_t chunk_tiles_;
  Value *x_ = nullptr, *y_ = nullptr, *weights_ = nullptr;
  Value* rows_ = nullptr;  // what tiles read: x_group_, or a chunk in its place
  Value *x_group_ = nullptr, *weights_group_ = nullptr, *first_channel_ = nullptr;
  PhaseShift shift_;
  Value* y_phase_ = nullptr;  // the phase's first pixel
  IrValues operands_;
};

}  // namespace

ContractionPlan choose_conv_plan(const ConvSpec& s, const DeviceProfile& profile) {
  const ConvRows strategy = choose_conv_rows(s, profile);
  const ContractionSize size = contraction_size(s, strategy, profile);
  ContractionPlan plan = (s.n * output_pixels(s)).is_fixed()
                             ? choose_plan(size, profile)
                             : choose_symbolic_plan(size, true, false, profile);
  // For the largest kernels the scratch has capacity for few rows of pointers.
  while (plan.rows > 1 &&
         !fits_scratch(conv_row_scratch(s, strategy, plan.rows, 1, profile), profile))
    --plan.rows;
  return plan;
}

Result<GeneratedKernel> generate_conv(const ConvSpec& spec, const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  return ConvEmitter(spec, profile).emit();
}

}  // namespace sluice
