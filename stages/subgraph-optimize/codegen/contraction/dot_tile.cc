#include "stages/subgraph-optimize/codegen/contraction/dot_tile.h"

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

llvm::Function* emit_dot_tile(KernelBuilder& b, const std::string& name, const DotTile& tile) {
  llvm::Function* function = b.begin_function(
      name, {b.pointer_type(), b.pointer_type(), b.pointer_type(), b.index_type()});
  const int lanes = tile.lanes;
  Elements elements(b, tile.dtype);
  Value* a = function->getArg(0);
  Value* last = b.sub(function->getArg(3), b.index(1));
  IrValues columns;
  for (int j = 0; j < lanes; ++j)
    columns.push_back(
        elements.at(function->getArg(1), b.mul(b.min(b.index(j), last), tile.column_stride)));
  const auto add = [&](Value* k, IrValues sums, int active) {
    Value* row = b.load_vector(b.at(a, k), lanes, active);
    for (size_t j = 0; j < sums.size(); ++j)
      sums[j] = b.multiply_add(row, elements.load_vector(elements.at(columns[j], k), lanes, active),
                               sums[j]);
    return sums;
  };
  const int64_t whole = tile.length / lanes * lanes;
  IrValues sums(static_cast<size_t>(lanes), b.splat(0.0f, lanes));
  sums = b.loop(b.index(0), b.index(whole), lanes, sums,
                [&](Value* k, const IrValues& so_far) { return add(k, so_far, lanes); });
  if (whole < tile.length) sums = add(b.index(whole), sums, static_cast<int>(tile.length - whole));
  Value* result = emit_epilogue(b, *tile.epilogue, sum_lanes(b, std::move(sums)), {});
  b.store_vector(result, function->getArg(2), lanes);
  b.ret_void();
  return function;
}

}  // namespace sluice
