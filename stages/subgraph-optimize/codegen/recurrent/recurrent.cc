#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"
#include "stages/subgraph-optimize/codegen/recurrent/cell_tile.h"

namespace sluice {
namespace {

using llvm::Value;

Result<void> check(const RecurrentSpec& spec) {
  const RecurrentCell& cell = spec.cell;
  if (spec.steps.factor < 1 || spec.batch.factor < 1 || cell.hidden < 1)
    return make_error(ErrorCode::kCodegen, "recurrent cell of size {}x{}x{}: sizes must be at least 1",
                      canonical_text(spec.steps), canonical_text(spec.batch), cell.hidden);
  if (static_cast<int64_t>(cell.activations.size()) != cell.directions)
    return make_error(ErrorCode::kCodegen, "recurrent cell of {} directions has activations for {}",
                      cell.directions, cell.activations.size());
  return {};
}

// The floats from one step, sequence or direction of a tensor to the next.
struct SequenceStrides {
  Extent step = 0, row = 0, direction = 0;
};

// Emits the tile functions and the loops of one block:
//
//   for item in the block's (direction, group of sequences):
//     h, c = initial states
//     for step in steps:
//       for row in group: where its products are and its result goes
//       for phase, for tile of hidden units, for tile of rows: the tile function
//     Y_h, Y_c = h, c
//
// Every other step walks the hidden units backward: what the level-2 cache still has of R is then
// read first. Blocks walk different items, and a tile's result is the same in any block, so results
// do not depend on the number of blocks.
class WalkEmitter {
 public:
  WalkEmitter(const RecurrentSpec& spec, const DeviceProfile& profile, const RecurrentPlan& plan)
      : spec_(spec), cell_(spec.cell), b_(profile), plan_(plan), phases_(cell_phases(spec.cell)) {}

  Result<GeneratedKernel> emit() {
    const std::string entry = kernel_entry(canonical_text(spec_), b_.profile());
    emit_tiles();
    begin(entry);
    Value* groups = b_.ceil_div(b_.value(spec_.batch), b_.index(plan_.group));
    const auto range =
        b_.partition(b_.mul(groups, cell_.directions), b_.block(), b_.blocks());
    b_.loop(range.first, range.second, 1, [&](Value* item) {
      direction_ = b_.div(item, groups);
      const auto rows = b_.partition(b_.value(spec_.batch), b_.mod(item, groups), groups);
      first_row_ = rows.first;
      rows_ = b_.sub(rows.second, rows.first);
      emit_item();
    });
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry, {.knows_target = true}));
    set_launch(kernel);
    return kernel;
  }

 private:
  using Units = std::pair<int, int>;  // vectors, and active lanes of the last one

  // ---- tile functions

  // A whole tile of hidden units, where there is one, and the last short one, where there is one.
  std::vector<Units> unit_shapes(const CellPhase& phase) const {
    const int vectors = cell_tile_vectors(spec_, plan_, phase);
    const int64_t units = int64_t{vectors} * plan_.lanes, remainder = cell_.hidden % units;
    std::vector<Units> shapes;
    if (cell_.hidden >= units) shapes.emplace_back(vectors, plan_.lanes);
    if (remainder > 0) {
      const auto last = static_cast<int>((remainder - 1) / plan_.lanes);
      shapes.emplace_back(last + 1, static_cast<int>(remainder - last * plan_.lanes));
    }
    return shapes;
  }

  bool directions_differ() const {
    return cell_.directions == 2 && cell_.activations[0] != cell_.activations[1];
  }

  void emit_tiles() {
    for (size_t direction = 0; direction < (directions_differ() ? 2u : 1u); ++direction) {
      for (const CellPhase& phase : phases_) {
        for (const auto& [vectors, active] : unit_shapes(phase)) {
          for (int rows = 1; rows <= plan_.rows; ++rows) {
            const CellTileShape shape{phase, direction, rows, vectors, active};
            tiles_.push_back({shape, emit_cell_tile(b_, spec_, plan_, shape)});
          }
        }
      }
    }
  }

  llvm::Function* find_tile(const CellPhase& phase, size_t direction, int rows,
                            const Units& units) const {
    const auto tile = std::find_if(tiles_.begin(), tiles_.end(), [&](const auto& known) {
      const CellTileShape& own = known.first;
      return own.phase.first_gate == phase.first_gate && own.direction == direction &&
             own.rows == rows && Units(own.vectors, own.active) == units;
    });
    return tile->second;
  }

  // ---- operands

  void begin(const std::string& entry) {
    b_.begin_kernel(entry);
    const bool is_fixed = spec_.steps.is_fixed() && spec_.batch.is_fixed();
    if (!is_fixed) b_.set_symbols(b_.symbols_argument());
    int next = 0;
    const auto take = [&](bool exists) { return exists ? b_.pointer_argument(next++) : null(); };
    y_ = take(spec_.has_y);
    y_h_ = take(spec_.has_y_h);
    y_c_ = take(spec_.has_y_c);
    products_ = take(true);
    weights_ = take(true);
    bias_ = take(spec_.has_bias);
    lengths_ = take(spec_.has_lengths);
    h_ = take(spec_.has_h);
    c_ = take(spec_.has_c);
    peepholes_ = take(spec_.has_peepholes);
    scratch_ = b_.scratch();
    areas_ = b_.at(scratch_, plan_.scratch.states);
    steps_ = b_.value(spec_.steps);
  }

  Value* null() { return llvm::ConstantPointerNull::get(b_.ir().getPtrTy()); }

  // The strides of a tensor that has `width` floats for each step, sequence and direction, where
  // the directions of a sequence lie next to each other, or those of a step.
  SequenceStrides product_strides() const {
    const Extent width = cell_.columns();
    if (cell_.is_batch_first) return {width, spec_.steps * width, cell_.columns() / cell_.directions};
    return {spec_.batch * width, width, cell_.columns() / cell_.directions};
  }
  SequenceStrides result_strides() const {
    const Extent line = cell_.hidden, all = cell_.directions * cell_.hidden;
    if (cell_.is_batch_first) return {all, spec_.steps * all, line};
    return {spec_.batch * all, line, spec_.batch * line};
  }
  SequenceStrides state_strides() const {
    const Extent line = cell_.hidden, all = cell_.directions * cell_.hidden;
    return cell_.is_batch_first ? SequenceStrides{0, all, line}
                                : SequenceStrides{0, line, spec_.batch * line};
  }

  // Returns the place of a step of a sequence in the item's direction.
  Value* place(Value* tensor, const SequenceStrides& strides, Value* step, Value* sequence) {
    Value* offset = b_.add(b_.mul(step, strides.step), b_.mul(sequence, strides.row));
    return b_.at(tensor, b_.add(offset, b_.mul(direction_, strides.direction)));
  }
  Value* state_place(Value* tensor, Value* row) {
    return place(tensor, state_strides(), b_.index(0), b_.add(first_row_, row));
  }
  Value* area_row(Value* number, Value* row) {
    Value* offset = b_.add(b_.mul(number, plan_.scratch.area), b_.mul(row, plan_.scratch.stride));
    return b_.at(areas_, offset);
  }

  // Runs body for the row of each sequence of the group.
  void for_rows(const std::function<void(Value* row)>& body) {
    b_.loop(b_.index(0), rows_, 1, body);
  }

  // ---- one item

  void emit_item() {
    constexpr int64_t kMemoryArea = 2;
    const bool is_lstm = cell_.kind == CellKind::kLstm;
    for_rows([&](Value* row) {
      copy_line(spec_.has_h ? state_place(h_, row) : nullptr, area_row(b_.index(0), row));
      if (is_lstm)
        copy_line(spec_.has_c ? state_place(c_, row) : nullptr,
                  area_row(b_.index(kMemoryArea), row));
      if (spec_.has_lengths && spec_.has_y) clear_rest(row);
    });
    b_.loop(b_.index(0), steps_, 1, [&](Value* step) { emit_step(step); });
    Value* last = odd(steps_);
    for_rows([&](Value* row) {
      if (spec_.has_y_h) copy_line(area_row(last, row), state_place(y_h_, row));
      if (spec_.has_y_c) copy_line(area_row(b_.index(kMemoryArea), row), state_place(y_c_, row));
    });
  }

  // Copies the hidden units of one sequence; a null `from` has zeros.
  void copy_line(Value* from, Value* to) {
    const auto copy = [&](Value* unit, int active) {
      Value* units = from == nullptr ? b_.splat(0.0f, plan_.lanes)
                                     : b_.load_vector(b_.at(from, unit), plan_.lanes, active);
      b_.store_vector(units, b_.at(to, unit), active);
    };
    const int64_t whole = cell_.hidden / plan_.lanes * plan_.lanes;
    b_.loop(b_.index(0), b_.index(whole), plan_.lanes,
            [&](Value* unit) { copy(unit, plan_.lanes); });
    if (whole < cell_.hidden) copy(b_.index(whole), static_cast<int>(cell_.hidden - whole));
  }

  // Clears Y past the end of a sequence.
  void clear_rest(Value* row) {
    Value* sequence = b_.add(first_row_, row);
    b_.loop(length_of(sequence), steps_, 1, [&](Value* step) {
      copy_line(nullptr, place(y_, result_strides(), step, sequence));
    });
  }

  Value* length_of(Value* sequence) {
    llvm::Type* type = b_.ir().getInt32Ty();
    Value* address = b_.ir().CreateInBoundsGEP(type, lengths_, sequence);
    Value* length = b_.ir().CreateAlignedLoad(type, address, llvm::Align(4));
    Value* wide = b_.ir().CreateSExt(length, b_.index_type());
    return b_.min(b_.max(wide, b_.index(0)), steps_);
  }

  Value* odd(Value* number) { return b_.ir().CreateAnd(number, b_.index(1)); }

  // ---- one step

  void emit_step(Value* step) {
    for_rows([&](Value* row) { describe_sequence(step, row); });
    b_.keep_memory_order();
    for (const CellPhase& phase : phases_) emit_phase(phase, step);
  }

  // Writes what the tiles know of a sequence. One that has ended reads its first step, keeps its
  // state and has its result in memory that nothing reads.
  void describe_sequence(Value* step, Value* row) {
    Value* sequence = b_.add(first_row_, row);
    Value* end = steps_;
    Value* is_active = nullptr;
    if (spec_.has_lengths) {
      end = length_of(sequence);
      is_active = b_.ir().CreateICmpSLT(step, end);
    }
    Value* at = step_of(step, end);
    if (is_active != nullptr) at = b_.ir().CreateSelect(is_active, at, b_.index(0));
    Value* known = b_.at(scratch_, b_.mul(row, kSequenceFloats));
    store(known, SequenceMember::kProducts, place(products_, product_strides(), at, sequence));
    if (spec_.has_y) {
      Value* result = place(y_, result_strides(), at, sequence);
      if (is_active != nullptr)
        result = b_.ir().CreateSelect(is_active, result, b_.at(scratch_, plan_.scratch.unread));
      store(known, SequenceMember::kResult, result);
    }
    if (is_active != nullptr)
      store(known, SequenceMember::kIsActive, b_.ir().CreateZExt(is_active, b_.index_type()));
  }

  void store(Value* sequence, SequenceMember member, Value* value) {
    Value* address = b_.at(sequence, 2 * static_cast<int64_t>(member));
    b_.ir().CreateAlignedStore(value, address, llvm::Align(8));
  }

  // Returns the position in the sequence of a step of the walk.
  Value* step_of(Value* step, Value* end) {
    Value* backward = b_.sub(b_.sub(end, b_.index(1)), step);
    if (cell_.directions == 1) return cell_.is_reverse ? backward : step;
    return b_.ir().CreateSelect(b_.ir().CreateIsNotNull(direction_), backward, step);
  }

  void emit_phase(const CellPhase& phase, Value* step) {
    const std::vector<Units> shapes = unit_shapes(phase);
    const int64_t units = int64_t{cell_tile_vectors(spec_, plan_, phase)} * plan_.lanes;
    const int64_t tiles = (cell_.hidden + units - 1) / units;
    Value* is_odd = b_.ir().CreateIsNotNull(odd(step));
    b_.loop(b_.index(0), b_.index(tiles), 1, [&](Value* i) {
      Value* tile = b_.ir().CreateSelect(is_odd, b_.sub(b_.index(tiles - 1), i), i);
      Value* unit = b_.mul(tile, units);
      if (shapes.size() == 1) return emit_row_tiles(phase, step, unit, shapes[0]);
      b_.if_else(
          b_.ir().CreateICmpEQ(tile, b_.index(tiles - 1)),
          [&] { emit_row_tiles(phase, step, unit, shapes[1]); },
          [&] { emit_row_tiles(phase, step, unit, shapes[0]); });
    });
  }

  // Tiles of all the plan's rows come first, then smaller ones, each at most once.
  void emit_row_tiles(const CellPhase& phase, Value* step, Value* unit, const Units& units) {
    Value* first = b_.index(0);
    for (int rows = plan_.rows; rows > 0; --rows) {
      Value* count = b_.div(b_.sub(rows_, first), rows);
      Value* end = b_.add(first, b_.mul(count, rows));
      b_.loop(first, end, rows, [&](Value* row) { call_tile(phase, step, row, unit, rows, units); });
      first = end;
    }
  }

  void call_tile(const CellPhase& phase, Value* step, Value* row, Value* unit, int rows,
                 const Units& units) {
    const IrValues arguments = tile_arguments(phase, step, row, unit).values();
    const auto call = [&](size_t direction) {
      b_.ir().CreateCall(find_tile(phase, direction, rows, units), arguments);
    };
    if (!directions_differ()) return call(0);
    b_.if_else(
        b_.ir().CreateIsNull(direction_), [&] { call(0); }, [&] { call(1); });
  }

  CellTileArguments tile_arguments(const CellPhase& phase, Value* step, Value* row, Value* unit) {
    const int64_t gate = plan_.panels * plan_.nr * cell_.hidden;
    Value* first_gate = b_.add(b_.mul(direction_, cell_.gates()), b_.index(phase.first_gate));
    Value* panel = b_.mul(unit, cell_.hidden);  // a unit has so many floats in its panel
    Value* parity = odd(step);
    CellTileArguments in;
    in.sequence = b_.at(scratch_, b_.mul(row, kSequenceFloats));
    in.weights = b_.at(weights_, b_.add(b_.mul(first_gate, gate), panel));
    in.unit = unit;
    in.old_state = area_row(parity, row);
    in.new_state = area_row(b_.sub(b_.index(1), parity), row);
    in.areas = area_row(b_.index(0), row);
    in.bias = spec_.has_bias
                  ? b_.at(bias_, b_.mul(direction_, 2 * cell_.gates() * cell_.hidden))
                  : null();
    in.peepholes =
        spec_.has_peepholes ? b_.at(peepholes_, b_.mul(direction_, 3 * cell_.hidden)) : null();
    return in;
  }

  // ---- the launch

  // A symbolic walk is launched in as many blocks as may have work.
  void set_launch(GeneratedKernel& kernel) {
    constexpr int64_t kBlockMultiplyAdds = 200'000, kMaxBlocks = 32;
    const int64_t weights = cell_.gates() * cell_.hidden * cell_.hidden;
    kernel.scratch_bytes = static_cast<uint64_t>(plan_.scratch.size) * 4;
    kernel.multiply_adds = spec_.steps * spec_.batch * (cell_.directions * weights);
    kernel.blocks = plan_.blocks;
    if (spec_.steps.is_fixed() && spec_.batch.is_fixed()) return;
    kernel.multiply_adds_per_block = std::max(kBlockMultiplyAdds, plan_.group * weights);
    if (!spec_.batch.is_fixed()) kernel.blocks = kMaxBlocks;
  }

  const RecurrentSpec& spec_;
  const RecurrentCell& cell_;
  KernelBuilder b_;
  RecurrentPlan plan_;
  std::vector<CellPhase> phases_;
  std::vector<std::pair<CellTileShape, llvm::Function*>> tiles_;
  Value *y_ = nullptr, *y_h_ = nullptr, *y_c_ = nullptr, *products_ = nullptr, *weights_ = nullptr;
  Value *bias_ = nullptr, *lengths_ = nullptr, *h_ = nullptr, *c_ = nullptr, *peepholes_ = nullptr;
  Value *scratch_ = nullptr, *areas_ = nullptr, *steps_ = nullptr;
  // Of the item that is walked.
  Value *direction_ = nullptr, *first_row_ = nullptr, *rows_ = nullptr;
};

}  // namespace

Result<GeneratedKernel> generate_recurrent(const RecurrentSpec& spec,
                                           const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  SLUICE_ASSIGN(const RecurrentPlan plan, choose_recurrent_plan(spec, profile));
  return WalkEmitter(spec, profile, plan).emit();
}

}  // namespace sluice
