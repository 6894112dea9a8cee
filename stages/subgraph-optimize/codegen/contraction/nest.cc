#include "stages/subgraph-optimize/codegen/contraction/nest.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/contraction/plan.h"
#include "stages/subgraph-optimize/codegen/cost.h"
#include "stages/subgraph-optimize/codegen/emit/choice.h"

namespace sluice {
namespace {

using llvm::Value;

bool cuts_last_tile(const ContractionNest& nest) {
  return nest.has_many_rows && !nest.rows.is_fixed();
}

// Returns the numbers of rows that tiles may have.
std::vector<int> row_counts(const ContractionNest& nest) {
  if (cuts_last_tile(nest)) return falling_sizes(nest.plan.rows);
  if (!nest.rows.is_fixed()) return numbers(1, nest.plan.rows);
  std::vector<int> counts;
  if (nest.rows.factor >= nest.plan.rows) counts.push_back(nest.plan.rows);
  const int remainder = static_cast<int>(nest.rows.factor % nest.plan.rows);
  if (remainder > 0) counts.push_back(remainder);
  return counts;
}

bool has_whole_panels(const ContractionNest& nest) {
  return !nest.columns.is_fixed() || nest.columns.factor >= nest.plan.nr;
}

// Returns the shape of the last panel of columns known at code generation; 0 vectors when every
// panel is whole.
TileShape known_remainder(const ContractionNest& nest) {
  TileShape shape{1, 0, nest.plan.lanes, nest.plan.lanes, nest.is_symbolic};
  const int remainder = static_cast<int>(nest.columns.factor % nest.plan.nr);
  if (remainder == 0) return shape;
  shape.vectors = (remainder + shape.lanes - 1) / shape.lanes;
  shape.active = remainder - (shape.vectors - 1) * shape.lanes;
  return shape;
}

// Emits the loops that one block runs:
//
//   if batch, rows and columns are > 0 and the block is one of those used:
//     for entry in the block's batch entries:               enter(entry)
//       for chunk of the block's row tiles, chunk_tiles at a time:      prepare_chunk(row, rows)
//         for panels [begin, end) of the block, panel_group at a time:  prepare_panels(begin, end)
//           for tile in the chunk:
//             a = prepare_rows(row, rows)
//             branch on the number of rows:
//               for panel in [begin, end): call(shape, a, place)
//
// Block number = (batch block, panel block, row block), row block fastest: neighbours share
// weights. The short last panel, and the short last tile of a fixed number of rows, are loops of
// one iteration or none after the loops over whole ones. With has_many_rows the last tile becomes
// loops of falling sizes, each with an a of its own. A last panel whose columns are symbolic
// branches on its number of vectors; without masks on its whole vectors first, then on its single
// columns.
class NestEmitter {
 public:
  NestEmitter(KernelBuilder& builder, const ContractionNest& nest) : b_(builder), nest_(nest) {}

  void emit() {
    if (!nest_.is_symbolic) return emit_entries(planned_split());
    Value* minimum =
        b_.min(b_.value(nest_.batch), b_.min(b_.value(nest_.rows), b_.value(nest_.columns)));
    b_.if_else(b_.ir().CreateICmpSGT(minimum, b_.index(0)), [&] { emit_computed_split(); }, [] {});
  }

 private:
  using Range = std::pair<Value*, Value*>;
  struct Split {
    Range entries, panels, tiles;  // of the block
    Value* panel_group;
  };

  Split planned_split() {
    const ContractionPlan& plan = nest_.plan;
    const int64_t tiles = ceil_div(nest_.rows.factor, plan.rows);
    Value* block = b_.block();
    whole_panels_ = b_.index(nest_.columns.factor / plan.nr);
    const Range rows = b_.partition(tiles, b_.mod(block, plan.row_blocks), plan.row_blocks);
    const Range panels = b_.partition(
        plan.panels, b_.mod(b_.div(block, plan.row_blocks), plan.panel_blocks), plan.panel_blocks);
    const Range entries = b_.partition(
        nest_.batch.factor, b_.div(block, plan.row_blocks * plan.panel_blocks), plan.batch_blocks);
    return {entries, panels, rows, b_.index(plan.panel_group)};
  }

  // Returns as many equal parts of `items` as `limit` allows without leaving one much smaller.
  Value* even_parts(Value* items, Value* limit) {
    limit = b_.min(b_.max(limit, b_.index(1)), items);
    return b_.ceil_div(items, b_.ceil_div(items, limit));
  }

  // Returns the number of panels that stay in the second cache while row tiles pass by.
  Value* max_panels() {
    if (nest_.panels_are_dear) return b_.index(nest_.plan.panel_group);
    const int64_t steps = b_.profile().l2_bytes / 2 / (nest_.plan.nr * 4);
    return b_.max(b_.div(b_.index(steps), b_.max(b_.value(nest_.reduction), b_.index(1))),
                  b_.index(1));
  }

  // Emits the split of symbolic sizes over the blocks of the launch; blocks beyond those that it
  // uses do nothing.
  void emit_computed_split() {
    Value* rows = b_.value(nest_.rows);
    Value* batch = b_.value(nest_.batch);
    Value* tiles = b_.ceil_div(rows, b_.index(nest_.plan.rows));
    base_ = b_.div(rows, tiles);
    extra_ = b_.mod(rows, tiles);
    Value* panels = b_.ceil_div(b_.value(nest_.columns), b_.index(nest_.plan.nr));
    whole_panels_ = b_.div(b_.value(nest_.columns), nest_.plan.nr);
    Value* group = max_panels();

    Value* batch_blocks = even_parts(batch, b_.blocks());
    Value* per_entry = b_.max(b_.div(b_.blocks(), batch), b_.index(1));
    Value* rows_first =
        nest_.panels_are_dear ? b_.ir().getFalse() : b_.ir().CreateICmpSLE(panels, group);
    const auto select = [&](Value* yes, Value* no) {
      return b_.ir().CreateSelect(rows_first, yes, no);
    };
    Value* first_blocks = even_parts(select(tiles, panels), per_entry);
    Value* second_blocks = even_parts(select(panels, tiles), b_.div(per_entry, first_blocks));
    Value* row_blocks = select(first_blocks, second_blocks);
    Value* panel_blocks = select(second_blocks, first_blocks);

    Value* entry_blocks = b_.mul(row_blocks, panel_blocks);
    b_.if_else(
        b_.ir().CreateICmpSLT(b_.block(), b_.mul(entry_blocks, batch_blocks)),
        [&] {
          Value* in_entry = b_.mod(b_.block(), entry_blocks);
          emit_entries({b_.partition(batch, b_.div(b_.block(), entry_blocks), batch_blocks),
                        b_.partition(panels, b_.div(in_entry, row_blocks), panel_blocks),
                        b_.partition(tiles, b_.mod(in_entry, row_blocks), row_blocks), group});
        },
        [] {});
  }

  void emit_entries(const Split& split) {
    const auto& [first, last] = split.panels;
    Value* groups = b_.ceil_div(b_.sub(last, first), split.panel_group);
    b_.loop(split.entries.first, split.entries.second, 1, [&](Value* entry) {
      if (nest_.enter) nest_.enter(entry);
      in_chunks(split.tiles, [&](const Range& tiles) {
        b_.loop(b_.index(0), groups, 1, [&](Value* group) {
          Value* begin = b_.add(first, b_.mul(group, split.panel_group));
          Value* end = b_.min(b_.add(begin, split.panel_group), last);
          if (nest_.prepare_panels) nest_.prepare_panels(begin, end);
          emit_row_tiles(tiles, begin, end);
        });
      });
    });
  }

  void in_chunks(const Range& tiles, const std::function<void(const Range& tiles)>& body) {
    if (!nest_.prepare_chunk) return body(tiles);
    b_.loop(tiles.first, tiles.second, nest_.chunk_tiles, [&](Value* tile) {
      Value* end = b_.min(b_.add(tile, b_.index(nest_.chunk_tiles)), tiles.second);
      Value* row = first_row(tile);
      nest_.prepare_chunk(row, b_.sub(b_.min(first_row(end), b_.value(nest_.rows)), row));
      body({tile, end});
    });
  }

  Value* first_row(Value* tile) {
    if (nest_.rows.is_fixed() || cuts_last_tile(nest_)) return b_.mul(tile, nest_.plan.rows);
    return b_.add(b_.mul(tile, base_), b_.min(tile, extra_));
  }

  void emit_row_tiles(const Range& tiles, Value* begin, Value* end) {
    if (!nest_.rows.is_fixed())
      return b_.loop(tiles.first, tiles.second, 1,
                     [&](Value* tile) { emit_symbolic_tile(tile, begin, end); });
    const int rows = nest_.plan.rows;
    const int64_t whole = nest_.rows.factor / rows;
    const auto emit_tile = [&](Value* tile, int count) {
      Value* row = first_row(tile);
      emit_panels(count, nest_.prepare_rows(row, b_.index(count)), row, begin, end);
    };
    b_.loop(tiles.first, b_.min(tiles.second, b_.index(whole)), 1,
            [&](Value* tile) { emit_tile(tile, rows); });
    const int remainder = static_cast<int>(nest_.rows.factor % rows);
    if (remainder == 0) return;
    // This loop runs once in the block that has the last tile of all, and never in the others.
    b_.loop(b_.index(whole), tiles.second, 1, [&](Value* tile) { emit_tile(tile, remainder); });
  }

  // Emits the last tile's rows as tiles of each size in turn.
  void emit_cut_tile(Value* row, Value* begin, Value* end) {
    Value* rows = b_.value(nest_.rows);
    for (const int size : falling_sizes(nest_.plan.rows)) {
      if (size == nest_.plan.rows) continue;
      Value* next = b_.add(row, b_.mul(b_.div(b_.sub(rows, row), size), size));
      b_.loop(row, next, size, [&](Value* first) {
        emit_panels(size, nest_.prepare_rows(first, b_.index(size)), first, begin, end);
      });
      row = next;
    }
  }

  void emit_symbolic_tile(Value* tile, Value* begin, Value* end) {
    if (cuts_last_tile(nest_)) {
      Value* row = first_row(tile);
      Value* whole = b_.index(nest_.plan.rows);
      return b_.if_else(
          b_.ir().CreateICmpSLE(b_.add(row, whole), b_.value(nest_.rows)),
          [&] { emit_panels(nest_.plan.rows, nest_.prepare_rows(row, whole), row, begin, end); },
          [&] { emit_cut_tile(row, begin, end); });
    }
    Value* row = first_row(tile);
    Value* count =
        b_.add(base_, b_.ir().CreateZExt(b_.ir().CreateICmpSLT(tile, extra_), b_.index_type()));
    Value* a = nest_.prepare_rows(row, count);
    emit_choice(b_, count, row_counts(nest_),
                [&](int rows) { emit_panels(rows, a, row, begin, end); });
  }

  void emit_panels(int rows, Value* a, Value* row, Value* begin, Value* end) {
    const int lanes = nest_.plan.lanes;
    if (has_whole_panels(nest_)) {
      b_.loop(begin, b_.min(end, whole_panels_), 1, [&](Value* panel) {
        call({rows, nest_.plan.vectors, lanes, lanes}, a,
             {row, panel, b_.index(0), b_.index(lanes)});
      });
    }
    if (nest_.columns.is_fixed() && known_remainder(nest_).vectors == 0) return;
    // This loop runs once if the last panel is among these, and never otherwise.
    b_.loop(whole_panels_, end, 1, [&](Value* panel) { emit_last_panel(rows, a, row, panel); });
  }

  void emit_last_panel(int rows, Value* a, Value* row, Value* panel) {
    if (nest_.columns.is_fixed()) {
      TileShape shape = known_remainder(nest_);
      shape.rows = rows;
      return call(shape, a, {row, panel, b_.index(0), b_.index(shape.active)});
    }
    const int lanes = nest_.plan.lanes, vectors = nest_.plan.vectors;
    Value* remainder = b_.sub(b_.value(nest_.columns), b_.mul(panel, nest_.plan.nr));
    if (nest_.has_masked_tiles) {
      Value* count = b_.ceil_div(remainder, b_.index(lanes));
      Value* active = b_.sub(remainder, b_.mul(b_.sub(count, b_.index(1)), lanes));
      emit_choice(b_, count, numbers(1, vectors), [&](int used) {
        call({rows, used, lanes, 0}, a, {row, panel, b_.index(0), active});
      });
      return;
    }
    Value* whole = b_.div(remainder, lanes);
    emit_choice(b_, whole, numbers(0, vectors - 1), [&](int used) {
      if (used > 0) call({rows, used, lanes, lanes}, a, {row, panel, b_.index(0), b_.index(lanes)});
    });
    emit_choice(b_, b_.mod(remainder, lanes), numbers(0, lanes - 1), [&](int columns) {
      if (columns > 0)
        call({rows, columns, 1, 1}, a, {row, panel, b_.mul(whole, lanes), b_.index(1)});
    });
  }

  void call(TileShape shape, Value* a, const ContractionNest::Place& place) {
    shape.is_symbolic = nest_.is_symbolic;
    nest_.call(shape, a, place);
  }

  KernelBuilder& b_;
  const ContractionNest& nest_;
  // The rows of a tile of a symbolic number of rows; the first extra_ tiles have one more.
  Value *base_ = nullptr, *extra_ = nullptr;
  Value* whole_panels_ = nullptr;
};

// Returns the shapes, for one row, of the panels.
std::vector<TileShape> panel_shapes(const ContractionNest& nest) {
  const int lanes = nest.plan.lanes, vectors = nest.plan.vectors;
  std::vector<TileShape> shapes;
  if (has_whole_panels(nest)) shapes.push_back({1, vectors, lanes, lanes});
  if (nest.columns.is_fixed()) {
    if (const TileShape remainder = known_remainder(nest); remainder.vectors > 0)
      shapes.push_back(remainder);
  } else if (nest.has_masked_tiles) {
    for (int used = 1; used <= vectors; ++used) shapes.push_back({1, used, lanes, 0});
  } else {
    for (int used = 1; used < vectors; ++used) shapes.push_back({1, used, lanes, lanes});
    for (int single = 1; single < lanes; ++single) shapes.push_back({1, single, 1, 1});
  }
  return shapes;
}

}  // namespace

std::vector<TileShape> nest_tile_shapes(const ContractionNest& nest) {
  std::vector<TileShape> shapes;
  for (const int rows : row_counts(nest)) {
    for (TileShape shape : panel_shapes(nest)) {
      shape.rows = rows;
      shape.is_symbolic = nest.is_symbolic;
      shapes.push_back(shape);
    }
  }
  return shapes;
}

TileFunctions::TileFunctions(const ContractionNest& nest,
                             const std::function<llvm::Function*(const TileShape&)>& emit) {
  for (const TileShape& shape : nest_tile_shapes(nest)) functions_.emplace_back(shape, emit(shape));
}

llvm::Function* TileFunctions::of(const TileShape& shape) const {
  const auto found = std::find_if(functions_.begin(), functions_.end(),
                                  [&](const auto& known) { return known.first == shape; });
  return found->second;
}

Value* emit_batch_offset(KernelBuilder& b, const std::vector<BatchAxis>& batch, Value* entry,
                         const std::function<const Extent&(size_t axis)>& stride) {
  Value* offset = b.index(0);
  for (size_t axis = batch.size(); axis-- > 0;) {
    if (batch[axis].size.is_fixed_at(1)) continue;
    Value* size = b.value(batch[axis].size);
    offset = b.add(offset, b.mul(b.mod(entry, size), stride(axis)));
    entry = b.div(entry, size);
  }
  return offset;
}

void emit_nest(KernelBuilder& builder, const ContractionNest& nest) {
  NestEmitter(builder, nest).emit();
}

void set_launch(const ContractionNest& nest, const DeviceProfile& profile,
                GeneratedKernel& kernel) {
  kernel.multiply_adds = nest.batch * nest.rows * nest.columns * nest.reduction;
  kernel.blocks = nest.is_symbolic ? kMaxContractionBlocks : nest.plan.blocks;
  const auto weights = static_cast<double>(nest.columns.nominal * nest.reduction.nominal * 4);
  kernel.cycles = std::max(nest.plan.cycles, memory_cycles(weights, profile));
  if (!nest.is_symbolic) return;
  // One tile of rows waits for its panels, which come from memory.
  double cycles = nest.plan.cycles;
  if (!nest.rows.is_fixed() || nest.rows.factor <= nest.plan.rows) {
    constexpr double kRows = 2.5;  // between one row and many
    const double read = static_cast<double>(profile.costs.memory_line) / 100 / 16;  // a float's
    cycles = std::max(cycles, static_cast<double>(kernel.multiply_adds.nominal) * read / kRows);
  }
  kernel.multiply_adds_per_block = multiply_adds_per_block(kernel.multiply_adds, cycles, profile);
}

}  // namespace sluice
