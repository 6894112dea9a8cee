#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"

#include <optional>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/cost.h"
#include "stages/subgraph-optimize/codegen/emit/choice.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"
#include "stages/subgraph-optimize/codegen/recurrent/cell_tiles.h"
#include "stages/subgraph-optimize/codegen/recurrent/walk_operands.h"

namespace sluice {
namespace {

using llvm::Value;

Result<void> check(const RecurrentSpec& spec) {
  const RecurrentCell& cell = spec.cell;
  if (spec.steps.factor < 1 || spec.batch.factor < 1 || cell.hidden < 1) {
    return make_error(ErrorCode::kCodegen,
                      "recurrent cell of size {}x{}x{}: every size must be at least 1",
                      canonical_text(spec.steps), canonical_text(spec.batch), cell.hidden);
  }
  if (static_cast<int64_t>(cell.activations.size()) != cell.directions)
    return make_error(ErrorCode::kCodegen, "recurrent cell of {} directions has activations for {}",
                      cell.directions, cell.activations.size());
  if (!is_operand_dtype(spec.dtype))
    return make_error(ErrorCode::kCodegen, "recurrent cell of {}", dtype_name(spec.dtype));
  return {};
}

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
      : spec_(spec), cell_(spec.cell), b_(profile), plan_(plan), tiles_(b_, spec, plan_) {}

  Result<GeneratedKernel> emit() {
    const std::string entry = kernel_entry(canonical_text(spec_), b_.profile());
    b_.begin_kernel(entry);
    if (!is_fixed()) b_.set_symbols(b_.symbols_argument());
    in_.emplace(b_, spec_);
    scratch_ = b_.scratch();
    emit_items();
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry, {.knows_target = true}));
    set_launch(kernel);
    return kernel;
  }

 private:
  static constexpr int64_t kCellArea = 2;  // see RecurrentScratch

  bool is_fixed() const { return spec_.steps.is_fixed() && spec_.batch.is_fixed(); }

  // ---- items

  void emit_items() {
    Value* batch = b_.value(spec_.batch);
    Value* groups = b_.ceil_div(batch, b_.index(plan_.group));
    const auto range = b_.partition(b_.mul(groups, cell_.directions), b_.block(), b_.blocks());
    b_.loop(range.first, range.second, 1, [&](Value* item) {
      direction_ = b_.div(item, groups);
      const auto [first, last] = b_.partition(batch, b_.mod(item, groups), groups);
      first_sequence_ = first;
      rows_ = b_.sub(last, first);
      row_tiles_ = b_.ceil_div(rows_, b_.index(plan_.rows));
      rows_of_tile_ = b_.div(rows_, row_tiles_);
      larger_tiles_ = b_.mod(rows_, row_tiles_);
      emit_item();
    });
  }

  void emit_item() {
    for_rows([&](Value* row) { begin_sequence(row); });
    b_.loop(b_.index(0), in_->steps, 1, [&](Value* step) { emit_step(step); });
    Value* last = odd(in_->steps);
    for_rows([&](Value* row) {
      if (spec_.has_y_h) copy_line(area_line(last, row), in_memory(state_at(in_->y_h, row)));
      if (spec_.has_y_c)
        copy_line(area_line(b_.index(kCellArea), row), in_memory(state_at(in_->y_c, row)));
    });
  }

  // Runs body for each sequence of the group.
  void for_rows(const std::function<void(Value* row)>& body) {
    b_.loop(b_.index(0), rows_, 1, body);
  }

  // Sets the states before the first step, and clears Y past the end of the sequence.
  void begin_sequence(Value* row) {
    const auto initial = [&](bool exists, Value* states) {
      return in_memory(exists ? state_at(states, row) : nullptr);
    };
    copy_line(initial(spec_.has_h, in_->h), area_line(b_.index(0), row));
    if (cell_.kind == CellKind::kLstm)
      copy_line(initial(spec_.has_c, in_->c), area_line(b_.index(kCellArea), row));
    if (!spec_.has_lengths || !spec_.has_y) return;
    Value* sequence = b_.add(first_sequence_, row);
    b_.loop(in_->length_of(sequence), in_->steps, 1, [&](Value* step) {
      copy_line(in_memory(nullptr), in_memory(in_->result_at(step, sequence, direction_)));
    });
  }

  // The hidden units of one sequence, in a tensor or in an area of scratch.
  struct Line {
    Elements elements;
    Value* first;
  };
  Line in_memory(Value* first) { return {in_->elements, first}; }
  Line area_line(Value* area, Value* row) {
    return {Elements(b_, DType::kF32), area_row(area, row)};
  }

  // Copies a line; a null one has zeros.
  void copy_line(Line from, Line to) {
    const auto copy = [&](Value* unit, int active) {
      Value* units =
          from.first == nullptr
              ? b_.splat(0.0f, plan_.lanes)
              : from.elements.load_vector(from.elements.at(from.first, unit), plan_.lanes, active);
      to.elements.store_vector(units, to.elements.at(to.first, unit), active);
    };
    const int64_t whole = cell_.hidden / plan_.lanes * plan_.lanes;
    b_.loop(b_.index(0), b_.index(whole), plan_.lanes,
            [&](Value* unit) { copy(unit, plan_.lanes); });
    if (whole < cell_.hidden) copy(b_.index(whole), static_cast<int>(cell_.hidden - whole));
  }

  Value* state_at(Value* states, Value* row) {
    return in_->state_at(states, b_.add(first_sequence_, row), direction_);
  }

  Value* area_row(Value* area, Value* row) {
    Value* offset = b_.add(b_.mul(area, plan_.scratch.area), b_.mul(row, plan_.scratch.stride));
    return b_.at(scratch_, b_.add(offset, b_.index(plan_.scratch.states)));
  }

  Value* odd(Value* number) { return b_.ir().CreateAnd(number, b_.index(1)); }

  // ---- one step

  void emit_step(Value* step) {
    for_rows([&](Value* row) { describe_sequence(step, row); });
    const auto emit_kind = [&](const CellTiles::Kind& kind) {
      for (const CellPhase& phase : tiles_.phases()) emit_phase(phase, kind, step);
    };
    if (!tiles_.may_be_together()) return emit_kind(tiles_.alone());
    if (!tiles_.may_be_alone()) return emit_kind(tiles_.together());
    b_.if_else(
        b_.ir().CreateICmpEQ(rows_, b_.index(1)), [&] { emit_kind(tiles_.alone()); },
        [&] { emit_kind(tiles_.together()); });
  }

  // Writes what the tiles know of a sequence. One that has ended reads its first step, keeps its
  // state and has its result in memory that nothing reads.
  void describe_sequence(Value* step, Value* row) {
    Value* sequence = b_.add(first_sequence_, row);
    Value* end = spec_.has_lengths ? in_->length_of(sequence) : in_->steps;
    Value* is_active = b_.ir().CreateICmpSLT(step, end);
    Value* at = position(step, end);
    if (spec_.has_lengths) at = b_.ir().CreateSelect(is_active, at, b_.index(0));
    Value* known = b_.at(scratch_, b_.mul(row, kSequenceFloats));
    store(known, SequenceMember::kProducts, in_->products_at(at, sequence, direction_));
    if (spec_.has_lengths)
      store(known, SequenceMember::kIsActive, b_.ir().CreateZExt(is_active, b_.index_type()));
    if (!spec_.has_y) return;
    Value* result = in_->result_at(at, sequence, direction_);
    Value* unread = b_.at(scratch_, plan_.scratch.unread);
    if (spec_.has_lengths) result = b_.ir().CreateSelect(is_active, result, unread);
    store(known, SequenceMember::kResult, result);
  }

  void store(Value* sequence, SequenceMember member, Value* value) {
    b_.ir().CreateAlignedStore(value, sequence_member_at(b_, sequence, member), llvm::Align(8));
  }

  // Returns the position in a sequence of `end` steps of a step of the walk.
  Value* position(Value* step, Value* end) {
    Value* backward = b_.sub(b_.sub(end, b_.index(1)), step);
    if (cell_.directions == 1) return cell_.is_reverse ? backward : step;
    return b_.ir().CreateSelect(b_.ir().CreateIsNotNull(direction_), backward, step);
  }

  void emit_phase(const CellPhase& phase, const CellTiles::Kind& kind, Value* step) {
    const std::vector<CellTiles::Units> shapes = tiles_.units(phase, kind);
    const int64_t units = tiles_.whole(phase, kind);
    const int64_t last = ceil_div(cell_.hidden, units) - 1;
    Value* is_odd = b_.ir().CreateIsNotNull(odd(step));
    b_.loop(b_.index(0), b_.index(last + 1), 1, [&](Value* i) {
      Value* tile = b_.ir().CreateSelect(is_odd, b_.sub(b_.index(last), i), i);
      Value* unit = b_.mul(tile, units);
      const auto emit = [&](const CellTiles::Units& shape) {
        emit_row_tiles(kind, [&](Value* row, int rows) {
          call_tile(phase, rows, shape, tile_arguments(phase, step, row, unit));
        });
      };
      if (shapes.size() == 1) return emit(shapes[0]);
      b_.if_else(
          b_.ir().CreateICmpEQ(tile, b_.index(last)), [&] { emit(shapes[1]); },
          [&] { emit(shapes[0]); });
    });
  }

  // The rows of tiles differ by at most one.
  void emit_row_tiles(const CellTiles::Kind& kind,
                      const std::function<void(Value* row, int rows)>& call) {
    if (kind.rows.back() == 1) return for_rows([&](Value* row) { call(row, 1); });
    b_.loop(b_.index(0), row_tiles_, 1, [&](Value* tile) {
      Value* first = b_.add(b_.mul(tile, rows_of_tile_), b_.min(tile, larger_tiles_));
      Value* is_larger = b_.ir().CreateICmpSLT(tile, larger_tiles_);
      Value* rows = b_.add(rows_of_tile_, b_.ir().CreateZExt(is_larger, b_.index_type()));
      emit_choice(b_, rows, kind.rows, [&](int number) { call(first, number); });
    });
  }

  void call_tile(const CellPhase& phase, int rows, const CellTiles::Units& units,
                 const CellTileArguments& arguments) {
    const auto call = [&](size_t direction) {
      b_.ir().CreateCall(tiles_.find(phase, direction, rows, units), arguments.values());
    };
    if (!tiles_.directions_differ()) return call(0);
    b_.if_else(b_.ir().CreateIsNull(direction_), [&] { call(0); }, [&] { call(1); });
  }

  CellTileArguments tile_arguments(const CellPhase& phase, Value* step, Value* row, Value* unit) {
    const int64_t gate = plan_.panels * plan_.nr * cell_.hidden;
    Value* first_gate = b_.add(b_.mul(direction_, cell_.gates()), b_.index(phase.first_gate));
    Value* panel = b_.mul(unit, cell_.hidden);  // a unit has so many elements in its panel
    Value* parity = odd(step);
    CellTileArguments arguments;
    arguments.sequence = b_.at(scratch_, b_.mul(row, kSequenceFloats));
    arguments.weights = in_->elements.at(in_->weights, b_.add(b_.mul(first_gate, gate), panel));
    arguments.unit = unit;
    arguments.old_state = area_row(parity, row);
    arguments.new_state = area_row(b_.sub(b_.index(1), parity), row);
    arguments.areas = area_row(b_.index(0), row);
    arguments.bias = of_direction(spec_.has_bias, in_->bias, 2 * cell_.gates());
    arguments.peepholes = of_direction(spec_.has_peepholes, in_->peepholes, 3);
    return arguments;
  }

  // Returns the lines of hidden units that an operand has for the item's direction.
  Value* of_direction(bool exists, Value* operand, int64_t lines) {
    return exists ? in_->elements.at(operand, b_.mul(direction_, lines * cell_.hidden)) : operand;
  }

  // ---- the launch

  void set_launch(GeneratedKernel& kernel) {
    const int64_t weights = cell_.gates() * cell_.hidden * cell_.hidden;
    kernel.scratch_bytes = static_cast<uint64_t>(plan_.scratch.size) * 4;
    kernel.multiply_adds = spec_.steps * spec_.batch * (cell_.directions * weights);
    kernel.cycles = plan_.cycles;
    kernel.blocks = plan_.blocks;
    if (is_fixed()) return;
    kernel.blocks = kMaxContractionBlocks;
    kernel.multiply_adds_per_block =
        multiply_adds_per_block(kernel.multiply_adds, plan_.cycles, b_.profile());
  }

  const RecurrentSpec& spec_;
  const RecurrentCell& cell_;
  KernelBuilder b_;
  RecurrentPlan plan_;
  CellTiles tiles_;
  std::optional<WalkOperands> in_;
  Value* scratch_ = nullptr;
  // Of the item that is walked: its sequences are cut into row_tiles_ tiles of rows_of_tile_ rows,
  // of which the first have one more.
  Value *direction_ = nullptr, *first_sequence_ = nullptr, *rows_ = nullptr;
  Value *row_tiles_ = nullptr, *rows_of_tile_ = nullptr, *larger_tiles_ = nullptr;
};

}  // namespace

Result<GeneratedKernel> generate_recurrent(const RecurrentSpec& spec,
                                           const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  SLUICE_ASSIGN(const RecurrentPlan plan, choose_recurrent_plan(spec, profile));
  return WalkEmitter(spec, profile, plan).emit();
}

}  // namespace sluice
