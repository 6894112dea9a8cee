#include "stages/subgraph-optimize/codegen/emit/register_transpose.h"

namespace sluice {

using llvm::Value;

// Emits, all written out, stages that exchange elements between vectors i and i + distance:
//
//   for distance = 1, 2, 4, …:
//     for pairs (i, i + distance): two shuffles exchange their off-diagonal elements
//
// After all stages vector i contains column i.
void transpose_in_registers(KernelBuilder& b, IrValues& v) {
  const int size = static_cast<int>(v.size());
  for (int distance = 1; distance < size; distance *= 2) {
    std::vector<int> low, high;
    for (int lane = 0; lane < size; ++lane) {
      const bool second = (lane / distance) % 2 == 1;
      low.push_back(second ? size + lane - distance : lane);
      high.push_back(second ? size + lane : lane + distance);
    }
    for (int i = 0; i < size; ++i) {
      if ((i / distance) % 2 == 1) continue;
      Value* first = b.ir().CreateShuffleVector(v[i], v[i + distance], low);
      v[i + distance] = b.ir().CreateShuffleVector(v[i], v[i + distance], high);
      v[i] = first;
    }
  }
}

}  // namespace sluice
