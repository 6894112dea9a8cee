// Convolutions and matrix products of bytes run the loops of nest.h around integer tiles.
#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/contraction/nest.h"
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"
#include "stages/subgraph-optimize/codegen/int8/int8_forms.h"
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
//       where the plan says so, unless they are narrow: scratch = these panels, widened
//       for tile of plan.rows output pixels:
//         a = x itself, or a copy of the tile's rows in scratch (int8_rows.h), and their sums
//         for panel:
//           acc[rows][vectors] = 0
//           for step of the products that one instruction adds:
//             acc[i][j] += dot(a[i][step], w[group][panel][step][j])
//           y[row + i][panel][j] = result(acc[i][j] + bias - zero-point terms)
//
// A kernel that widens panels has tiles of two forms, which multiply bytes and pairs of 16 bits;
// what a group of panels has decides which of them run.
class Int8ConvEmitter {
 public:
  Int8ConvEmitter(const Int8ConvSpec& spec, const DeviceProfile& profile)
      : spec_(spec),
        s_(spec.conv),
        b_(profile),
        ints_(b_),
        plan_(choose_int8_plan(spec, profile)),
        tiles_(plan_.tiles) {
    if (has_bytes()) forms_.bytes = make_form(4);
    if (!profile.int8_dot_product) forms_.pairs = make_form(2);
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
    forms_.emit_tiles(nest, [&](const Int8Form& form, const TileShape& shape) {
      return emit_tile_function(form, shape);
    });
    begin(entry);
    nest.enter = [&](Value* group) { enter(group); };
    if (plan_.widens_panels())
      nest.prepare_panels = [&](Value* first, Value* end) { prepare_panels(first, end); };
    nest.prepare_rows = [&](Value* row, Value* rows) {
      forms_.choose(b_, [&](const Int8Form& form) { prepare_rows(form, row, rows); });
      return b_.scratch();
    };
    nest.call = [&](const TileShape& shape, Value*, const ContractionNest::Place& place) {
      forms_.choose(b_, [&](const Int8Form& form) {
        b_.ir().CreateCall(form.tiles->of(shape), arguments(form, place));
      });
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
  int64_t packed_steps() const { return ceil_div(int8_reduction(s_), plan_.unit); }
  int64_t packed_bytes() const { return tiles_.nr * packed_steps() * plan_.unit; }
  // Only vectors of 256 bits and more have the instruction for narrow bytes.
  bool has_bytes() const {
    const DeviceProfile& profile = b_.profile();
    return profile.int8_dot_product || (plan_.widens_panels() && profile.vector_bits >= 256);
  }
  bool has_row_sums(const Int8Form& form) const {
    return spec_.numbers.has_w_zero && !form.reduction.is_centered;
  }
  bool copies_rows(const Int8Form& form) const { return copies_rows(form.reduction.unit); }
  bool copies_rows(int unit) const { return unit == 2 || !has_rows_in_place(spec_); }

  Int8Form make_form(int unit) const {
    Int8Form form;
    Int8Reduction& r = form.reduction;
    r.unit = unit;
    r.steps = packed_steps() * plan_.unit / unit;
    r.nr = tiles_.nr;
    r.is_centered = unit == 2 && plan_.widens_panels();
    r.row_stride = copies_rows(unit) ? plan_.row_bytes : s_.ci;
    return form;
  }

  ContractionNest make_nest() const {
    ContractionNest nest;
    nest.has_masked_tiles = b_.has_masks();
    nest.batch = s_.groups, nest.rows = rows(), nest.columns = columns();
    nest.reduction = int8_reduction(s_), nest.plan = tiles_;
    nest.is_symbolic = !is_fixed(s_);
    nest.panels_are_dear = plan_.widens_panels();
    return nest;
  }

  void begin(const std::string& entry) {
    b_.begin_kernel(entry);
    if (!is_fixed(s_)) b_.set_symbols(b_.symbols_argument());
    p_ = int8_pointers(b_, spec_.numbers, s_.epilogue);
    moved_x_zero_ = p_.x_zero;
    // Moves the zero point by 128 like the copied bytes.
    if (spec_.numbers.x_signed) moved_x_zero_ = b_.ir().CreateAdd(p_.x_zero, b_.ir().getInt32(128));
  }

  llvm::Function* emit_tile_function(const Int8Form& form, const TileShape& shape) {
    TileOutput output{{s_.co}, &s_.epilogue, {}};
    for (const EpilogueOperand& operand : s_.epilogue.operands)
      output.operand_rows.push_back({operand.row_stride, 0, 0});
    return emit_int8_tile(b_, shape, form.reduction, spec_.numbers, output);
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
    Value* before = b_.mul(b_.sub(panel, first_panel_), plan_.panel_bytes);
    return ints_.bytes_at(b_.scratch(), b_.add(before, b_.index(plan_.panels_offset)));
  }

  void prepare_panels(Value* first, Value* end) {
    first_panel_ = first;
    if (!has_bytes()) return widen_panels(first, end);
    forms_.are_narrow = emit_are_narrow(b_, packed_panel(first),
                                        b_.mul(b_.sub(end, first), packed_bytes()), tiles_.lanes);
    b_.if_else(forms_.are_narrow, [] {}, [&] { widen_panels(first, end); });
  }

  void widen_panels(Value* first, Value* end) {
    b_.loop(first, end, 1, [&](Value* panel) {
      Value* column = b_.mul(panel, tiles_.nr);
      PackedPanel packed{packed_panel(panel), nullptr, b_.sub(b_.index(columns()), column),
                         packed_steps()};
      if (spec_.numbers.has_w_zero) packed.zeros = b_.at(p_.w_zero, b_.add(first_channel_, column));
      emit_widened_panel(b_, packed,
                         {wide_panel(panel), nullptr, nullptr, tiles_.lanes, tiles_.nr, 2});
    });
  }

  // Returns the rows from this one on, as the tile function reads them.
  Value* rows_of(const Int8Form& form, Value* first) {
    return copies_rows(form) ? b_.scratch() : ints_.bytes_at(x_group_, b_.mul(first, s_.ci));
  }

  void prepare_rows(const Int8Form& form, Value* first, Value* rows) {
    const Int8Reduction& r = form.reduction;
    const bool is_pairs = r.unit == 2;
    if (copies_rows(form))
      emit_int8_rows(b_, spec_, {is_pairs, r.steps * r.unit, plan_.row_bytes}, x_group_,
                     is_pairs ? p_.x_zero : moved_x_zero_, first, rows);
    if (has_row_sums(form))
      emit_int8_row_sums(b_, {rows_of(form, first), rows, r.row_stride, b_.index(r.steps), r.unit},
                         row_sums());
  }

  Value* row_sums() { return ints_.bytes_at(b_.scratch(), plan_.sums_offset); }

  // Returns the arguments of the tile function.
  IrValues arguments(const Int8Form& form, const ContractionNest::Place& place) {
    Value* channel = b_.add(first_channel_, b_.mul(place.panel, tiles_.nr));
    const auto column = [&](Value* array) {
      return array == nullptr ? p_.sums : b_.at(array, channel);
    };
    IrValues values = neutral_int8_arguments(b_);
    values[kX] = rows_of(form, place.row), values[kRow] = place.row;
    values[kW] = form.reduction.is_centered ? wide_panel(place.panel) : packed_panel(place.panel);
    values[kY] = ints_.bytes_at(
        p_.y, b_.mul(b_.add(b_.mul(place.row, s_.co), channel), int8_stored_bytes(s_.epilogue)));
    values[kXZero] = moved_x_zero_, values[kSums] = column(p_.sums);
    if (has_row_sums(form)) values[kRowSums] = row_sums();
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
  Int8Forms forms_;
  Int8Pointers p_{};
  Value* moved_x_zero_ = nullptr;
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
