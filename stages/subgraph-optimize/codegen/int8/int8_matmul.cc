// Products of matrices of bytes that are both known only when the kernel runs: the nest of
// contractions around integer tiles, whose panels the kernel packs.
#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/contraction/nest.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"
#include "stages/subgraph-optimize/codegen/int8/int8_forms.h"
#include "stages/subgraph-optimize/codegen/int8/int8_matmul_plan.h"
#include "stages/subgraph-optimize/codegen/int8/int8_panel.h"
#include "stages/subgraph-optimize/codegen/int8/int8_rows.h"
#include "stages/subgraph-optimize/codegen/int8/int8_tile.h"

namespace sluice {
namespace {

using llvm::Value;

// Emits the tile functions (int8_tile.h) and the nest around them:
//
//   for piece of the sums:
//     for entry in the block's batch entries:
//       for panels of nr columns, panel_group at a time:
//         scratch = the piece of these panels (int8_panel.h), as bytes if these are narrow
//         for tile of plan.rows rows:
//           scratch = the piece of the tile's rows, as the tile reads them
//           for panel: y[row + i][panel][j] = result(sums), in a later piece added to what is there
class Int8MatMulEmitter {
 public:
  Int8MatMulEmitter(const Int8MatMulSpec& spec, const DeviceProfile& profile)
      : spec_(spec),
        s_(spec.product),
        b_(profile),
        ints_(b_),
        plan_(choose_int8_matmul_plan(spec, profile)) {
    for (const BatchAxis& axis : s_.batch) batch_ *= axis.size;
    numbers_ = spec.numbers;
    numbers_.has_w_zero = spec.numbers.has_w_zero || !spec.w_signed;
    if (plan_.has_bytes) forms_.bytes = make_form(4);
    if (plan_.has_pairs) forms_.pairs = make_form(2);
  }

  Result<GeneratedKernel> emit() {
    const auto scratch = static_cast<uint64_t>(plan_.scratch_bytes());
    if (plan_.scratch_bytes() > b_.profile().scratch_limit)
      return make_error(ErrorCode::kNotLowerable,
                        "int8 product over {} terms needs {} bytes of scratch, the device has {}",
                        canonical_text(s_.k), scratch, b_.profile().scratch_limit);
    ContractionNest nest = make_nest();
    forms_.emit_tiles(nest, [&](const Int8Form& form, const TileShape& shape) {
      return emit_tile_function(form, shape);
    });
    const std::string entry = kernel_entry(canonical_text(spec_), b_.profile());
    begin(entry);
    nest.enter = [&](Value* batch) { enter(batch); };
    nest.prepare_panels = [&](Value* first, Value* end) { prepare_panels(first, end); };
    nest.prepare_rows = [&](Value* row, Value* rows) {
      forms_.choose(b_, [&](const Int8Form& form) { copy_rows(form, row, rows); });
      return rows_;
    };
    nest.call = [&](const TileShape& shape, Value* x, const ContractionNest::Place& place) {
      forms_.choose(b_, [&](const Int8Form& form) {
        b_.ir().CreateCall(form.tiles->of(shape), arguments(form, x, place));
      });
    };
    each_piece([&] { emit_nest(b_, nest); });
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    set_launch(nest, b_.profile(), kernel);
    kernel.scratch_bytes = scratch;
    return kernel;
  }

 private:
  Int8Form make_form(int unit) const {
    Int8Form form;
    Int8Reduction& r = form.reduction;
    r.steps = s_.k.is_fixed() ? ceil_div(s_.k.factor, unit) : 0;
    r.unit = unit;
    r.row_stride = plan_.row_bytes;
    r.nr = plan_.tiles.nr;
    r.is_centered = unit == 2;
    r.continues = has_pieces();
    return form;
  }

  bool has_pieces() const { return !s_.k.is_fixed(); }
  bool has_row_sums(const Int8Form& form) const {
    return numbers_.has_w_zero && !form.reduction.is_centered;
  }
  Value* row_sums() { return ints_.bytes_at(b_.scratch(), plan_.sums_offset()); }
  // Returns the steps of the piece.
  Value* steps(const Int8Form& form) { return b_.ceil_div(length_, b_.index(form.reduction.unit)); }

  ContractionNest make_nest() const {
    ContractionNest nest;
    nest.is_symbolic = !is_fixed(s_);
    nest.batch = batch_, nest.rows = s_.m, nest.columns = s_.n, nest.reduction = s_.k;
    nest.plan = plan_.tiles;
    nest.panels_are_dear = true;
    nest.has_masked_tiles = true;
    return nest;
  }

  void begin(const std::string& entry) {
    b_.begin_kernel(entry);
    if (!is_fixed(s_)) b_.set_symbols(b_.symbols_argument());
    y_ = b_.pointer_argument(0), x_ = b_.pointer_argument(1), w_ = b_.pointer_argument(2);
    int next = 3;
    if (spec_.numbers.has_w_zero) w_zero_ = b_.pointer_argument(next++);
    x_zero_ = spec_.numbers.x_zero_is_operand
                  ? ints_.load_byte(b_.pointer_argument(next++), spec_.numbers.x_signed)
                  : b_.ir().getInt32(static_cast<uint32_t>(spec_.numbers.x_zero));
    operands_ = b_.pointer_arguments(next, s_.epilogue.operands.size());
    // Moves the zero point by 128 like the copied bytes.
    moved_x_zero_ =
        spec_.numbers.x_signed ? b_.ir().CreateAdd(x_zero_, b_.ir().getInt32(128)) : x_zero_;
    rows_ = ints_.bytes_at(b_.scratch(), plan_.rows_offset());
  }

  // Returns a panel of the group in scratch.
  Int8Panel panel_in_scratch(Value* panel, int unit) {
    Int8Panel p{nullptr, nullptr, nullptr, plan_.tiles.lanes, plan_.tiles.nr, unit};
    p.weights =
        ints_.bytes_at(b_.scratch(), b_.mul(b_.sub(panel, first_panel_), plan_.panel_bytes()));
    p.sums = ints_.bytes_at(p.weights, plan_.fours_bytes());
    p.zeros = b_.at(p.sums, plan_.tiles.nr);
    return p;
  }

  // Emits body with first_ and length_ set for each piece of the sums, at least once.
  void each_piece(const std::function<void()>& body) {
    first_ = b_.index(0), length_ = b_.value(s_.k), continues_ = b_.ir().getInt32(0);
    if (!has_pieces()) return body();
    Value* all = b_.value(s_.k);
    b_.loop(b_.index(0), b_.max(all, b_.index(1)), plan_.piece, [&](Value* first) {
      first_ = first;
      length_ = b_.min(b_.sub(all, first), b_.index(plan_.piece));
      continues_ =
          b_.ir().CreateSExt(b_.ir().CreateICmpSGT(first, b_.index(0)), b_.ir().getInt32Ty());
      body();
    });
  }

  void enter(Value* entry) {
    const auto offset = [&](Extent BatchAxis::* stride) {
      return emit_batch_offset(b_, s_.batch, entry, [&](size_t axis) -> const Extent& {
        return s_.batch[axis].*stride;
      });
    };
    x_entry_ = ints_.bytes_at(x_, offset(&BatchAxis::a_stride));
    w_entry_ = ints_.bytes_at(w_, offset(&BatchAxis::b_stride));
    y_entry_ = ints_.bytes_at(y_, stored_bytes(offset(&BatchAxis::c_stride)));
    operand_entries_.clear();
    for (size_t n = 0; n < operands_.size(); ++n) {
      const auto& strides = s_.epilogue.operands[n].batch_strides;
      Value* at = strides.empty()
                      ? b_.index(0)
                      : emit_batch_offset(b_, s_.batch, entry, [&](size_t axis) -> const Extent& {
                          return strides[axis];
                        });
      operand_entries_.push_back(b_.at(operands_[n], at));
    }
  }

  Value* stored_bytes(Value* elements) { return b_.mul(elements, int8_stored_bytes(s_.epilogue)); }

  void prepare_panels(Value* first, Value* end) {
    first_panel_ = first;
    if (!forms_.bytes) return pack(first, end, 2);
    pack(first, end, 4);
    if (!forms_.pairs) return;
    forms_.are_narrow = are_narrow(first, end);
    b_.if_else(forms_.are_narrow, [] {}, [&] { pack(first, end, 2); });
  }

  // Returns whether all panels that are packed as bytes are narrow.
  Value* are_narrow(Value* first, Value* end) {
    IrValues all = {b_.ir().getTrue()};
    all = b_.loop(first, end, 1, all, [&](Value* panel, const IrValues& before) {
      Value* is_narrow =
          emit_are_narrow(b_, panel_in_scratch(panel, 4).weights,
                          b_.mul(steps(*forms_.bytes), 4 * plan_.tiles.nr), plan_.tiles.lanes);
      return IrValues{b_.ir().CreateAnd(before[0], is_narrow)};
    });
    return all[0];
  }

  void pack(Value* first, Value* end, int unit) {
    b_.loop(first, end, 1, [&](Value* panel) { pack_panel(panel, unit); });
  }

  void pack_panel(Value* panel, int unit) {
    Value* column = b_.mul(panel, plan_.tiles.nr);
    Int8PanelSource source;
    source.first = ints_.bytes_at(
        w_entry_, b_.add(b_.mul(first_, s_.b_row_stride), b_.mul(column, s_.b_column_stride)));
    source.rows = length_;
    source.columns = b_.sub(b_.value(s_.n), column);
    source.row_stride = s_.b_row_stride, source.column_stride = s_.b_column_stride;
    source.is_signed = spec_.w_signed;
    source.has_zero_per_column = spec_.w_zero_per_column;
    source.zero =
        w_zero_ == nullptr || !spec_.w_zero_per_column ? w_zero_ : ints_.bytes_at(w_zero_, column);
    emit_int8_panel(b_, source, panel_in_scratch(panel, unit));
  }

  // Copies the tile's rows, whose last step is filled up with 0.
  void copy_rows(const Int8Form& form, Value* first, Value* rows) {
    Value* from = ints_.bytes_at(x_entry_, b_.add(b_.mul(first, s_.a_row_stride), first_));
    b_.loop(b_.index(0), rows, 1, [&](Value* i) {
      copy_row(form, ints_.bytes_at(from, b_.mul(i, s_.a_row_stride)),
               ints_.bytes_at(rows_, b_.mul(i, plan_.row_bytes)));
    });
    if (has_row_sums(form))
      emit_int8_row_sums(b_, {rows_, rows, plan_.row_bytes, steps(form), form.reduction.unit},
                         row_sums());
  }

  // Copies in vectors, then in shorter ones, then one by one.
  void copy_row(const Int8Form& form, Value* from, Value* to) {
    const int bytes = form.reduction.is_centered ? 2 : 1;  // of a copied element
    const int widest = b_.profile().vector_bits / 8 / bytes;
    Value* at = b_.index(0);
    for (const int width : {widest, widest / 4, 1}) {
      Value* end = b_.mul(b_.div(length_, width), width);
      b_.loop(at, end, width, [&](Value* k) {
        Value* loaded = ints_.load_bytes(ints_.bytes_at(from, k), width, width);
        b_.ir().CreateAlignedStore(copied(form, loaded, width),
                                   ints_.bytes_at(to, b_.mul(k, bytes)), llvm::Align(1));
      });
      at = end;
    }
    auto* step = llvm::FixedVectorType::get(b_.ir().getInt8Ty(),
                                            static_cast<unsigned>(form.reduction.unit * bytes));
    b_.ir().CreateAlignedStore(llvm::Constant::getNullValue(step),
                               ints_.bytes_at(to, b_.mul(length_, bytes)), llvm::Align(1));
  }

  Value* copied(const Int8Form& form, Value* bytes, int width) {
    if (form.reduction.is_centered)
      return b_.ir().CreateSub(
          ints_.widened(bytes, 16, spec_.numbers.x_signed),
          b_.broadcast(b_.ir().CreateTrunc(x_zero_, b_.ir().getInt16Ty()), width));
    if (!spec_.numbers.x_signed) return bytes;
    return b_.ir().CreateXor(bytes, b_.broadcast(b_.ir().getInt8(0x80), width));
  }

  llvm::Function* emit_tile_function(const Int8Form& form, const TileShape& shape) {
    TileOutput output{{s_.c_row_stride}, &s_.epilogue, {}};
    for (const EpilogueOperand& operand : s_.epilogue.operands)
      output.operand_rows.push_back({operand.row_stride, 0, 0});
    return emit_int8_tile(b_, shape, form.reduction, numbers_, output);
  }

  IrValues arguments(const Int8Form& form, Value* x, const ContractionNest::Place& place) {
    Value* column = b_.mul(place.panel, plan_.tiles.nr);
    const Int8Panel panel = panel_in_scratch(place.panel, form.reduction.unit);
    IrValues values = neutral_int8_arguments(b_);
    values[kX] = x, values[kW] = panel.weights, values[kRow] = place.row;
    values[kY] =
        ints_.bytes_at(y_entry_, stored_bytes(b_.add(b_.mul(place.row, s_.c_row_stride), column)));
    values[kXZero] = moved_x_zero_, values[kSums] = panel.sums, values[kWZero] = panel.zeros;
    if (has_row_sums(form)) values[kRowSums] = row_sums();
    values[kSteps] = steps(form), values[kContinues] = continues_;
    if (!is_fixed(s_)) values[kSymbols] = b_.symbols();
    values[kActive] = place.active;
    for (size_t n = 0; n < operand_entries_.size(); ++n)
      values.push_back(
          b_.at(operand_entries_[n], b_.mul(column, s_.epilogue.operands[n].column_stride)));
    return values;
  }

  const Int8MatMulSpec& spec_;
  const MatMulSpec& s_;
  KernelBuilder b_;
  Int8Emitter ints_;
  Int8MatMulPlan plan_;
  Int8Numbers numbers_;  // as the tiles see them
  Int8Forms forms_;
  Extent batch_ = 1;
  Value *y_ = nullptr, *x_ = nullptr, *w_ = nullptr, *w_zero_ = nullptr, *x_zero_ = nullptr,
        *moved_x_zero_ = nullptr;
  Value *first_ = nullptr, *length_ = nullptr, *continues_ = nullptr;  // of the piece
  Value *x_entry_ = nullptr, *w_entry_ = nullptr, *y_entry_ = nullptr, *rows_ = nullptr;
  Value* first_panel_ = nullptr;  // of those in scratch
  IrValues operands_, operand_entries_;
};

Result<void> check(const Int8MatMulSpec& spec) {
  const MatMulSpec& s = spec.product;
  if (s.m.factor < 1 || s.n.factor < 1 || s.k.factor < 1)
    return make_error(ErrorCode::kCodegen, "int8 product of size {}x{}x{}", canonical_text(s.m),
                      canonical_text(s.k), canonical_text(s.n));
  if (!s.a_k_stride.is_fixed_at(1) ||
      (!s.b_row_stride.is_fixed_at(1) && !s.b_column_stride.is_fixed_at(1)))
    return make_error(ErrorCode::kCodegen, "int8 product of matrices without a stride of 1");
  if (!s.k.is_fixed() && !s.epilogue.is_empty())
    return make_error(ErrorCode::kCodegen, "int8 product of symbolic length with an epilogue");
  if (spec.numbers.has_bias)
    return make_error(ErrorCode::kCodegen, "int8 product of two operands with a bias");
  SLUICE_TRY(check_int8_numbers(spec.numbers, s.epilogue, s.batch.size()));
  return {};
}

}  // namespace

Result<GeneratedKernel> generate_int8_matmul(const Int8MatMulSpec& spec,
                                             const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  return Int8MatMulEmitter(spec, profile).emit();
}

std::string canonical_text(const Int8MatMulSpec& spec) {
  return fmt::format("int8 w signed {} per column {} {} {}", spec.w_signed, spec.w_zero_per_column,
                     canonical_text(spec.numbers), canonical_text(spec.product));
}

}  // namespace sluice
