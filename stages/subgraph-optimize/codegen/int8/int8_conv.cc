// Convolutions and matrix products of bytes run the loops of nest.h around integer tiles.
#include <algorithm>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/contraction/nest.h"
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"
#include "stages/subgraph-optimize/codegen/int8/int8_panel.h"
#include "stages/subgraph-optimize/codegen/int8/int8_plan.h"
#include "stages/subgraph-optimize/codegen/int8/int8_rows.h"
#include "stages/subgraph-optimize/codegen/int8/int8_tile.h"

namespace sluice {
namespace {

using llvm::Value;

// Emits the tile functions (int8_tile.h) and the nest around them:
//
//   for group in the block's groups:
//     for panels of nr output channels, panel_group at a time:
//       where the plan says so: scratch = these panels, widened (int8_panel.h)
//       for tile of plan.rows output pixels:
//         a = x itself, or a copy of the tile's rows in scratch (int8_rows.h), and their sums
//         for panel:
//           acc[rows][vectors] = 0
//           for step of `unit` products: acc[i][j] += dot(a[i][step], w[group][panel][step][j])
//           y[row + i][panel][j] = result(acc[i][j] + bias - zero-point terms)
class Int8ConvEmitter {
 public:
  Int8ConvEmitter(const Int8ConvSpec& spec, const DeviceProfile& profile)
      : spec_(spec),
        s_(spec.conv),
        b_(profile),
        ints_(b_),
        plan_(choose_int8_plan(spec, profile)),
        tiles_(plan_.tiles) {
    reduction_ = {ceil_div(int8_reduction(s_), plan_.unit), plan_.unit,
                  plan_.copies_rows ? plan_.row_bytes : s_.ci, tiles_.nr, widens_panels()};
  }

  Result<GeneratedKernel> emit() {
    if (plan_.scratch_bytes > static_cast<uint64_t>(b_.profile().scratch_limit)) {
      return make_error(
          ErrorCode::kNotLowerable,
          "int8 contraction over {} products needs {} bytes of scratch, the device has {}",
          int8_reduction(s_), plan_.scratch_bytes, b_.profile().scratch_limit);
    }
    const std::string entry = kernel_entry(canonical_text(spec_), b_.profile());
    ContractionNest nest = make_nest();
    const TileFunctions tiles(nest,
                              [&](const TileShape& shape) { return emit_tile_function(shape); });
    begin(entry);
    nest.enter = [&](Value* group) { enter(group); };
    if (widens_panels())
      nest.prepare_panels = [&](Value* first, Value* end) { widen_panels(first, end); };
    nest.prepare_rows = [&](Value* row, Value* rows) { return prepare_rows(row, rows); };
    nest.call = [&](const TileShape& shape, Value* x, const ContractionNest::Place& place) {
      b_.ir().CreateCall(tiles.of(shape), arguments(x, place.row, place.panel));
    };
    emit_nest(b_, nest);
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    set_launch(nest, b_.profile(), kernel);
    kernel.scratch_bytes = plan_.scratch_bytes;
    return kernel;
  }

 private:
  int64_t columns() const { return s_.co / s_.groups; }
  Extent rows() const { return s_.n * s_.oh * s_.ow; }
  bool widens_panels() const { return plan_.panel_bytes > 0; }
  bool has_row_sums() const { return spec_.numbers.has_w_zero && !widens_panels(); }
  int64_t packed_bytes() const { return tiles_.nr * reduction_.steps * plan_.unit; }

  ContractionNest make_nest() const {
    ContractionNest nest;
    nest.has_masked_tiles = b_.has_masks();
    nest.batch = s_.groups, nest.rows = rows(), nest.columns = columns();
    nest.reduction = int8_reduction(s_), nest.plan = tiles_;
    nest.is_symbolic = !is_fixed(s_);
    nest.panels_are_dear = widens_panels();
    return nest;
  }

  void begin(const std::string& entry) {
    b_.begin_kernel(entry);
    if (!is_fixed(s_)) b_.set_symbols(b_.symbols_argument());
    p_ = int8_pointers(b_, spec_.numbers, s_.epilogue);
    // Moves the zero point by 128 like the copied rows.
    if (plan_.unit == 4 && spec_.numbers.x_signed)
      p_.x_zero = b_.ir().CreateAdd(p_.x_zero, b_.ir().getInt32(128));
  }

  llvm::Function* emit_tile_function(const TileShape& shape) {
    TileOutput output{{s_.co}, &s_.epilogue, {}};
    for (const EpilogueOperand& operand : s_.epilogue.operands)
      output.operand_rows.push_back({operand.row_stride, 0, 0});
    return emit_int8_tile(b_, shape, reduction_, spec_.numbers, output);
  }

  void enter(Value* group) {
    x_group_ = ints_.bytes_at(p_.x, b_.mul(group, s_.ci / s_.groups));
    weights_group_ = ints_.bytes_at(p_.weights, b_.mul(group, tiles_.panels * packed_bytes()));
    first_channel_ = b_.mul(group, columns());
  }

  Value* packed_panel(Value* panel) {
    return ints_.bytes_at(weights_group_, b_.mul(panel, packed_bytes()));
  }

  // Returns a panel of the group in scratch.
  Value* wide_panel(Value* panel) {
    return ints_.bytes_at(b_.scratch(), b_.add(b_.mul(b_.sub(panel, first_panel_), plan_.panel_bytes),
                                               b_.index(plan_.panels_offset)));
  }

  void widen_panels(Value* first, Value* end) {
    first_panel_ = first;
    b_.loop(first, end, 1, [&](Value* panel) {
      Value* column = b_.mul(panel, tiles_.nr);
      PackedPanel packed{packed_panel(panel), nullptr, b_.sub(b_.index(columns()), column),
                         reduction_.steps};
      if (spec_.numbers.has_w_zero) packed.zeros = b_.at(p_.w_zero, b_.add(first_channel_, column));
      emit_widened_panel(b_, packed,
                         {wide_panel(panel), nullptr, nullptr, tiles_.lanes, tiles_.nr, 2});
    });
  }

  Value* prepare_rows(Value* first, Value* rows) {
    Value* x = b_.scratch();
    if (plan_.copies_rows) {
      emit_int8_rows(b_, spec_, plan_, x_group_, p_.x_zero, first, rows);
    } else {
      x = ints_.bytes_at(x_group_, b_.mul(first, s_.ci));
    }
    if (has_row_sums())
      emit_int8_row_sums(
          b_, {x, rows, reduction_.row_stride, b_.index(reduction_.steps), plan_.unit}, row_sums());
    return x;
  }

  Value* row_sums() { return ints_.bytes_at(b_.scratch(), plan_.sums_offset); }

  // Returns the arguments of the tile function.
  IrValues arguments(Value* x, Value* row, Value* panel) {
    Value* channel = b_.add(first_channel_, b_.mul(panel, tiles_.nr));
    Value* y = ints_.bytes_at(
        p_.y, b_.mul(b_.add(b_.mul(row, s_.co), channel), int8_stored_bytes(s_.epilogue)));
    Value* weights = widens_panels() ? wide_panel(panel) : packed_panel(panel);
    const auto column = [&](Value* array) {
      return array == nullptr ? p_.sums : b_.at(array, channel);
    };
    IrValues values = neutral_int8_arguments(b_);
    values[kX] = x, values[kW] = weights, values[kY] = y, values[kRow] = row;
    values[kXZero] = p_.x_zero, values[kSums] = column(p_.sums);
    if (has_row_sums()) values[kRowSums] = row_sums();
    values[kWZero] = column(p_.w_zero), values[kBias] = column(p_.bias);
    for (size_t n = 0; n < p_.operands.size(); ++n)
      values.push_back(
          b_.at(p_.operands[n], b_.mul(channel, s_.epilogue.operands[n].column_stride)));
    return values;
  }

  const Int8ConvSpec& spec_;
  const ConvSpec& s_;
  KernelBuilder b_;
  Int8Emitter ints_;
  Int8Plan plan_;
  const ContractionPlan& tiles_;
  Int8Reduction reduction_;
  Int8Pointers p_{};
  Value *x_group_ = nullptr, *weights_group_ = nullptr, *first_channel_ = nullptr;
  Value* first_panel_ = nullptr;  // of those in scratch
};

// Returns kCodegen for operands that differ from image to image: they would need the images' sizes.
Result<void> check_operands(const ConvSpec& s) {
  for (const EpilogueOperand& operand : s.epilogue.operands) {
    if (!operand.batch_strides.empty() || !operand.row_stride.is_fixed())
      return make_error(ErrorCode::kCodegen,
                        "int8 contraction with an operand that has a stride from image to image");
  }
  return {};
}

}  // namespace

Result<GeneratedKernel> generate_int8_conv(const Int8ConvSpec& spec, const DeviceProfile& profile) {
  SLUICE_TRY(check_conv(spec.conv));
  SLUICE_TRY(check_int8_numbers(spec.numbers, spec.conv.epilogue));
  SLUICE_TRY(check_operands(spec.conv));
  return Int8ConvEmitter(spec, profile).emit();
}

std::string canonical_text(const Int8ConvSpec& spec) {
  return fmt::format("int8 {} {}", canonical_text(spec.numbers), canonical_text(spec.conv));
}

}  // namespace sluice
