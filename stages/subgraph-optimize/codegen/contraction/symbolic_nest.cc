#include "stages/subgraph-optimize/codegen/contraction/symbolic_nest.h"

#include <algorithm>

namespace sluice {
namespace {

using llvm::Value;

constexpr uint32_t kMaxBlocks = 32;

bool cuts_last_tile(const SymbolicNest& nest) {
  return nest.has_many_rows && !nest.rows.is_fixed();
}

// Returns the numbers of rows that tiles may have.
std::vector<int> row_counts(const SymbolicNest& nest) {
  if (cuts_last_tile(nest)) return falling_sizes(nest.plan.rows);
  if (!nest.rows.is_fixed()) return numbers(1, nest.plan.rows);
  const int64_t tiles = (nest.rows.factor + nest.plan.rows - 1) / nest.plan.rows;
  const int base = static_cast<int>(nest.rows.factor / tiles);
  return numbers(base, nest.rows.factor % tiles == 0 ? base : base + 1);
}

// Returns the shape of the last panel of columns known at code generation; 0 vectors when every
// panel is whole.
TileShape known_remainder(const SymbolicNest& nest) {
  TileShape shape{1, 0, nest.plan.lanes, nest.plan.lanes, true};
  const int remainder = static_cast<int>(nest.columns.factor % nest.plan.nr);
  if (remainder == 0) return shape;
  shape.vectors = (remainder + shape.lanes - 1) / shape.lanes;
  shape.active = remainder - (shape.vectors - 1) * shape.lanes;
  return shape;
}

// Emits the loops that one block of a symbolic kernel runs, with bounds computed at its start:
//
//   if batch, rows and columns are > 0 and the block is one of those used:
//     for entry in the block's batch entries:               enter(entry)
//       for panels [begin, end) of the block, at most max_panels():  prepare_panel(begin)
//         for tile in the block's row tiles:
//           a = prepare_rows(row, rows)
//           branch on the number of rows:
//             for panel in [begin, end): call(shape, a, place)
//
// With has_many_rows the branch is on whether the tile is whole; a last tile that is not becomes
// loops of falling sizes, each with an a of its own.
// The last, short panel branches on its number of vectors; without masks on its whole vectors
// first, then on its single columns.
class SymbolicNestEmitter {
 public:
  SymbolicNestEmitter(KernelBuilder& builder, const SymbolicNest& nest)
      : b_(builder), nest_(nest) {}

  void emit() {
    Value* minimum =
        b_.min(b_.value(nest_.batch), b_.min(b_.value(nest_.rows), b_.value(nest_.columns)));
    b_.if_else(b_.ir().CreateICmpSGT(minimum, b_.index(0)), [&] { emit_blocks(); }, [] {});
  }

 private:
  // Returns as many equal parts of `items` as `limit` allows without leaving one much smaller.
  Value* even_parts(Value* items, Value* limit) {
    limit = b_.min(b_.max(limit, b_.index(1)), items);
    return b_.ceil_div(items, b_.ceil_div(items, limit));
  }

  // Returns the number of panels that stay in the second cache while row tiles pass by.
  Value* max_panels() {
    if (nest_.panels_are_dear) return b_.index(1);
    const int64_t steps = b_.profile().l2_bytes / 2 / (nest_.plan.nr * 4);
    return b_.max(b_.div(b_.index(steps), b_.max(b_.value(nest_.reduction), b_.index(1))),
                  b_.index(1));
  }

  void emit_blocks() {
    Value* rows = b_.value(nest_.rows);
    Value* batch = b_.value(nest_.batch);
    Value* tiles = b_.ceil_div(rows, b_.index(nest_.plan.rows));
    base_ = b_.div(rows, tiles);
    extra_ = b_.mod(rows, tiles);
    Value* panels = b_.ceil_div(b_.value(nest_.columns), b_.index(nest_.plan.nr));
    whole_panels_ = b_.div(b_.value(nest_.columns), nest_.plan.nr);
    group_ = max_panels();

    Value* batch_blocks = even_parts(batch, b_.blocks());
    Value* per_entry = b_.max(b_.div(b_.blocks(), batch), b_.index(1));
    Value* rows_first =
        nest_.panels_are_dear ? b_.ir().getFalse() : b_.ir().CreateICmpSLE(panels, group_);
    const auto select = [&](Value* yes, Value* no) {
      return b_.ir().CreateSelect(rows_first, yes, no);
    };
    Value* first_blocks = even_parts(select(tiles, panels), per_entry);
    Value* second_blocks = even_parts(select(panels, tiles), b_.div(per_entry, first_blocks));
    Value* row_blocks = select(first_blocks, second_blocks);
    Value* panel_blocks = select(second_blocks, first_blocks);

    // Block number = (batch block, panel block, row block), row block fastest. Blocks beyond these
    // do nothing.
    Value* entry_blocks = b_.mul(row_blocks, panel_blocks);
    b_.if_else(
        b_.ir().CreateICmpSLT(b_.block(), b_.mul(entry_blocks, batch_blocks)),
        [&] {
          Value* in_entry = b_.mod(b_.block(), entry_blocks);
          emit_entries(b_.partition(batch, b_.div(b_.block(), entry_blocks), batch_blocks),
                       b_.partition(panels, b_.div(in_entry, row_blocks), panel_blocks),
                       b_.partition(tiles, b_.mod(in_entry, row_blocks), row_blocks));
        },
        [] {});
  }

  using Range = std::pair<Value*, Value*>;

  void emit_entries(const Range& entries, const Range& panels, const Range& tiles) {
    Value* groups = b_.ceil_div(b_.sub(panels.second, panels.first), group_);
    b_.loop(entries.first, entries.second, 1, [&](Value* entry) {
      if (nest_.enter) nest_.enter(entry);
      b_.loop(b_.index(0), groups, 1, [&](Value* group) {
        Value* begin = b_.add(panels.first, b_.mul(group, group_));
        Value* end = b_.min(b_.add(begin, group_), panels.second);
        if (nest_.prepare_panel) nest_.prepare_panel(begin);
        b_.loop(tiles.first, tiles.second, 1,
                [&](Value* tile) { emit_row_tile(tile, begin, end); });
      });
    });
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

  void emit_row_tile(Value* tile, Value* begin, Value* end) {
    if (cuts_last_tile(nest_)) {
      Value* row = b_.mul(tile, nest_.plan.rows);
      Value* whole = b_.index(nest_.plan.rows);
      return b_.if_else(
          b_.ir().CreateICmpSLE(b_.add(row, whole), b_.value(nest_.rows)),
          [&] { emit_panels(nest_.plan.rows, nest_.prepare_rows(row, whole), row, begin, end); },
          [&] { emit_cut_tile(row, begin, end); });
    }
    Value* row = b_.add(b_.mul(tile, base_), b_.min(tile, extra_));
    Value* count =
        b_.add(base_, b_.ir().CreateZExt(b_.ir().CreateICmpSLT(tile, extra_), b_.index_type()));
    Value* a = nest_.prepare_rows(row, count);
    emit_choice(b_, count, row_counts(nest_),
                [&](int rows) { emit_panels(rows, a, row, begin, end); });
  }

  void emit_panels(int rows, Value* a, Value* row, Value* begin, Value* end) {
    const int lanes = nest_.plan.lanes;
    if (!nest_.columns.is_fixed() || nest_.columns.factor >= nest_.plan.nr) {
      b_.loop(begin, b_.min(end, whole_panels_), 1, [&](Value* panel) {
        nest_.call({rows, nest_.plan.vectors, lanes, lanes, true}, a,
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
      return nest_.call(shape, a, {row, panel, b_.index(0), b_.index(shape.active)});
    }
    const int lanes = nest_.plan.lanes, vectors = nest_.plan.vectors;
    Value* remainder = b_.sub(b_.value(nest_.columns), b_.mul(panel, nest_.plan.nr));
    if (b_.has_masks()) {
      Value* count = b_.ceil_div(remainder, b_.index(lanes));
      Value* active = b_.sub(remainder, b_.mul(b_.sub(count, b_.index(1)), lanes));
      emit_choice(b_, count, numbers(1, vectors), [&](int used) {
        nest_.call({rows, used, lanes, 0, true}, a, {row, panel, b_.index(0), active});
      });
      return;
    }
    Value* whole = b_.div(remainder, lanes);
    emit_choice(b_, whole, numbers(0, vectors - 1), [&](int used) {
      if (used > 0)
        nest_.call({rows, used, lanes, lanes, true}, a, {row, panel, b_.index(0), b_.index(lanes)});
    });
    emit_choice(b_, b_.mod(remainder, lanes), numbers(0, lanes - 1), [&](int columns) {
      if (columns > 0)
        nest_.call({rows, columns, 1, 1, true}, a, {row, panel, b_.mul(whole, lanes), b_.index(1)});
    });
  }

  KernelBuilder& b_;
  const SymbolicNest& nest_;
  // The rows of a tile; the first extra_ tiles have one more.
  Value *base_ = nullptr, *extra_ = nullptr;
  Value *whole_panels_ = nullptr, *group_ = nullptr;
};

}  // namespace

std::vector<int> numbers(int first, int last) {
  std::vector<int> result;
  for (int i = first; i <= last; ++i) result.push_back(i);
  return result;
}

std::vector<int> falling_sizes(int maximum) {
  std::vector<int> sizes = {maximum};
  for (const int size : {16, 8, 4, 2, 1}) {
    if (size < maximum) sizes.push_back(size);
  }
  return sizes;
}

void emit_choice(KernelBuilder& b, Value* number, const std::vector<int>& options,
                 const std::function<void(int)>& body) {
  if (options.size() == 1) return body(options.front());
  const auto middle = options.begin() + static_cast<int64_t>(options.size() / 2);
  b.if_else(
      b.ir().CreateICmpSLT(number, b.index(*middle)),
      [&] { emit_choice(b, number, {options.begin(), middle}, body); },
      [&] { emit_choice(b, number, {middle, options.end()}, body); });
}

std::vector<TileShape> nest_tile_shapes(const SymbolicNest& nest, bool has_masks) {
  const int lanes = nest.plan.lanes, vectors = nest.plan.vectors;
  std::vector<TileShape> columns;
  if (!nest.columns.is_fixed() || nest.columns.factor >= nest.plan.nr)
    columns.push_back({1, vectors, lanes, lanes, true});
  if (nest.columns.is_fixed()) {
    if (const TileShape remainder = known_remainder(nest); remainder.vectors > 0)
      columns.push_back(remainder);
  } else if (has_masks) {
    for (int used = 1; used <= vectors; ++used) columns.push_back({1, used, lanes, 0, true});
  } else {
    for (int used = 1; used < vectors; ++used) columns.push_back({1, used, lanes, lanes, true});
    for (int single = 1; single < lanes; ++single) columns.push_back({1, single, 1, 1, true});
  }
  std::vector<TileShape> shapes;
  for (const int rows : row_counts(nest)) {
    for (TileShape shape : columns) {
      shape.rows = rows;
      shapes.push_back(shape);
    }
  }
  return shapes;
}

void emit_nest(KernelBuilder& builder, const SymbolicNest& nest) {
  SymbolicNestEmitter(builder, nest).emit();
}

void set_launch(const SymbolicNest& nest, GeneratedKernel& kernel) {
  constexpr double kBlockCycles = 40000;
  constexpr double kFromMemory = 5;  // multiply-adds per cycle, between one row and many
  kernel.multiply_adds = nest.batch * nest.rows * nest.columns * nest.reduction;
  double per_cycle = static_cast<double>(std::max<int64_t>(kernel.multiply_adds.nominal, 1)) /
                     std::max(nest.plan.cycles, 1.0);
  if (!nest.rows.is_fixed() || nest.rows.factor <= nest.plan.rows)
    per_cycle = std::min(per_cycle, kFromMemory);
  kernel.blocks = kMaxBlocks;
  kernel.multiply_adds_per_block =
      std::max<int64_t>(1, static_cast<int64_t>(kBlockCycles * per_cycle));
}

}  // namespace sluice
