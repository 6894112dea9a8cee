#include <vector>

#include "common/loop/lower/families.h"

namespace sluice::loop {
namespace {

std::vector<const LoweringRow*> make_index() {
  std::vector<const LoweringRow*> index;
  for (const auto rows :
       {unary_rows(),         binary_rows(),  conversion_rows(),       view_rows(),
        reduction_rows(),     softmax_rows(), movement_rows(),         padding_rows(),
        gather_rows(),        scatter_rows(), cumulative_rows(),       blocks_rows(),
        generator_rows(),     resize_rows(),  rotary_embedding_rows(), grid_rows(),
        normalization_rows(), pooling_rows(), quantization_rows(),     loss_rows()}) {
    for (const LoweringRow& row : rows) {
      const auto op = static_cast<size_t>(row.op);
      if (index.size() <= op) index.resize(op + 1);
      index[op] = &row;
    }
  }
  return index;
}

}  // namespace

const LoweringRow* find_lowering(Op op) {
  static const std::vector<const LoweringRow*> index = make_index();
  return static_cast<size_t>(op) < index.size() ? index[static_cast<size_t>(op)] : nullptr;
}

}  // namespace sluice::loop
