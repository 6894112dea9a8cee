#include "stages/subgraph-optimize/codegen/contraction/dot_tile.h"

#include "stages/subgraph-optimize/codegen/contraction/tile_function.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/epilogue_emitter.h"

namespace sluice {

using llvm::Value;

// Emits stages that halve the number of vectors; after the stage of a distance, that bit of a
// lane's number says which of two vectors it has sums of:
//
//   for distance = 1, 2, 4, …:
//     v[i] = (lanes of v[2i] and v[2i + 1] where that bit is 0) + (those where it is 1)
Value* sum_lanes(KernelBuilder& b, IrValues v) {
  const int lanes = static_cast<int>(v.size());
  for (int distance = 1; distance < lanes; distance *= 2) {
    std::vector<int> low, high;
    for (int lane = 0; lane < lanes; ++lane) {
      const bool second = (lane / distance) % 2 == 1;
      low.push_back(second ? lanes + lane - distance : lane);
      high.push_back(second ? lanes + lane : lane + distance);
    }
    for (size_t i = 0; 2 * i < v.size(); ++i) {
      v[i] = b.ir().CreateFAdd(b.ir().CreateShuffleVector(v[2 * i], v[2 * i + 1], low),
                               b.ir().CreateShuffleVector(v[2 * i], v[2 * i + 1], high));
    }
    v.resize(v.size() / 2);
  }
  return v[0];
}

namespace {

// Emits the dot products of a row with `lanes` columns, of which only the first `count` exist:
//
//   for k by lanes: row = a[k...]; for j < lanes (written out): sum[j] += row * column[j][k...]
//   for the remainder of the reduction: the same with fewer elements
class DotEmitter {
 public:
  DotEmitter(KernelBuilder& builder, const DotOperands& operands, int lanes)
      : b_(builder),
        operands_(operands),
        lanes_(lanes),
        a_(builder, operands.a),
        columns_(builder, operands.b) {}

  // Returns a vector that has the product with column min(j, count - 1) in lane j.
  Value* emit(Value* a, Value* b, Value* count) {
    row_ = a;
    Value* last = b_.sub(count, b_.index(1));
    for (int j = 0; j < lanes_; ++j)
      starts_.push_back(columns_.at(b, b_.mul(b_.min(b_.index(j), last), operands_.column_stride)));
    Value* length = b_.value(operands_.length);
    Value* whole = b_.mul(b_.div(length, lanes_), lanes_);
    IrValues sums(static_cast<size_t>(lanes_), b_.splat(0.0f, lanes_));
    sums = b_.loop(b_.index(0), whole, lanes_, sums, [&](Value* k, const IrValues& so_far) {
      return add(k, so_far,
                 [&](Elements& from, Value* at) { return from.load_vector(at, lanes_, lanes_); });
    });
    return sum_lanes(b_, add_remainder(whole, length, sums));
  }

 private:
  using Load = std::function<Value*(Elements& from, Value* pointer)>;

  // Adds the products of the elements that `load` returns.
  IrValues add(Value* k, IrValues sums, const Load& load) {
    Value* row = load(a_, a_.at(row_, k));
    for (size_t j = 0; j < sums.size(); ++j)
      sums[j] = b_.multiply_add(row, load(columns_, columns_.at(starts_[j], k)), sums[j]);
    return sums;
  }

  IrValues add_remainder(Value* whole, Value* length, const IrValues& sums) {
    if (operands_.length.is_fixed()) {
      const int active = static_cast<int>(operands_.length.factor % lanes_);
      if (active == 0) return sums;
      return add(whole, sums,
                 [&](Elements& from, Value* at) { return from.load_vector(at, lanes_, active); });
    }
    if (b_.has_masks() && !a_.is_half() && !columns_.is_half()) {
      Value* mask = b_.mask(b_.sub(length, whole), lanes_);
      return add(whole, sums,
                 [&](Elements& from, Value* at) { return from.load_masked(at, lanes_, mask); });
    }
    return b_.loop(whole, length, 1, sums, [&](Value* k, const IrValues& so_far) {
      return add(k, so_far, [&](Elements& from, Value* at) {
        return b_.ir().CreateInsertElement(b_.splat(0.0f, lanes_), from.load(at), uint64_t{0});
      });
    });
  }

  KernelBuilder& b_;
  const DotOperands& operands_;
  int lanes_;
  Elements a_, columns_;
  Value* row_ = nullptr;
  IrValues starts_;  // of the columns
};

}  // namespace

llvm::Function* emit_dot_tile(KernelBuilder& b, const std::string& name, const TileShape& shape,
                              const DotOperands& operands, const TileOutput& output) {
  TileFunction function(b, name, shape, output);
  const bool has_one_vector = shape.vectors == 1;
  const int lanes = b.profile().vector_bits / 32;
  Value* count = has_one_vector ? function.active() : b.index(shape.vectors);
  Value* dots = DotEmitter(b, operands, lanes).emit(function.a(), function.b(), count);
  if (has_one_vector && shape.lanes == lanes) return function.finish({dots});
  IrValues single;
  for (int j = 0; j < shape.vectors; ++j) single.push_back(b.ir().CreateShuffleVector(dots, {j}));
  return function.finish(single);
}

llvm::Function* emit_dot_tile(KernelBuilder& b, const std::string& name, const DotTile& tile) {
  llvm::Function* function = b.begin_function(
      name, {b.pointer_type(), b.pointer_type(), b.pointer_type(), b.index_type()});
  const DotOperands operands{tile.length, tile.column_stride, DType::kF32, tile.dtype};
  Value* dots = DotEmitter(b, operands, tile.lanes)
                    .emit(function->getArg(0), function->getArg(1), function->getArg(3));
  b.store_vector(emit_epilogue(b, *tile.epilogue, dots, {}), function->getArg(2), tile.lanes);
  b.ret_void();
  return function;
}

}  // namespace sluice
