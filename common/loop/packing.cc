#include "common/loop/packing.h"

#include <functional>
#include <numeric>

namespace sluice::loop {
namespace {

int64_t product(const std::vector<int64_t>& extents, size_t first) {
  return std::accumulate(extents.begin() + static_cast<std::ptrdiff_t>(first), extents.end(),
                         int64_t{1}, std::multiplies<>());
}

// Returns how [batch, reduction, columns] lie in memory.
StorageMap panels_map(const Packing& packing) {
  StorageMap map = {{0}, {2, packing.nr}};
  const int64_t whole = product(packing.reduction, 0);
  if (whole == 1) map.push_back({1});
  const size_t paired = packing.order.back();  // the axis whose indices are in pairs
  for (const size_t axis : packing.order) {
    const int64_t unit = packing.in_pairs && axis == paired ? 2 : 1;
    const int64_t extent = packing.reduction[axis] / unit,
                  divisor = product(packing.reduction, axis + 1) * unit;
    if (extent == 1 && whole > unit) continue;
    if (extent == 1 && unit == 1) continue;
    map.push_back({1, divisor, divisor * extent == whole ? 0 : extent});
  }
  if (packing.nr > 1) map.push_back({2, 1, packing.nr});
  if (packing.in_pairs) map.push_back({1, product(packing.reduction, paired + 1), 2});
  return map;
}

// Returns the packing with whole pairs.
Packing with_whole_pairs(Packing packing) {
  if (packing.in_pairs && packing.reduction.size() == 1)
    packing.reduction[0] += packing.reduction[0] % 2;
  return packing;
}

class PackingLoops {
 public:
  explicit PackingLoops(const Packing& packing)
      : packing_(with_whole_pairs(packing)), steps_(product(packing.reduction, 0)) {
    graph_.nests.emplace_back();
    nest().sweeps.emplace_back();
  }

  // for batch, panel, reduction, column of the panel:
  //   packed[batch, reduction, column] = operand[batch, column, reduction], or 0 past an end
  LoopGraph run() {
    const int64_t panels = (packing_.columns + packing_.nr - 1) / packing_.nr;
    const int64_t reduction = product(packing_.reduction, 0);
    add_buffer(packing_.packed, {packing_.batch, reduction, panels * packing_.nr},
               panels_map(packing_));
    graph_.buffers[0].is_written = true;
    add_buffer(packing_.operand, in_operand(packing_.batch, packing_.columns, steps_),
               dense_map(3));
    const ExpressionId batch = add_axis(packing_.batch), panel = add_axis(panels),
                       k = add_axis(reduction), place = add_axis(packing_.nr);
    nest().outer = static_cast<int32_t>(nest().axes.size());
    const ExpressionId column = table().add(table().multiply(panel, number(packing_.nr)), place);
    std::vector<Guard> guards;
    if (panels * packing_.nr > packing_.columns)
      guards.push_back({column, number(packing_.columns)});
    if (reduction > steps_) guards.push_back({k, number(steps_)});
    const InstructionId loaded = load(in_operand(batch, column, k), std::move(guards));
    nest().sweeps[0].stores.push_back({{0, {batch, k, column}}, loaded, {}});
    return std::move(graph_);
  }

 private:
  ExpressionTable& table() { return graph_.expressions; }
  Nest& nest() { return graph_.nests[0]; }
  ExpressionId number(int64_t value) { return table().constant(value); }

  // Returns the three in the operand's order.
  template <typename T>
  std::vector<T> in_operand(T batch, T column, T reduction) const {
    if (packing_.columns_first) return {batch, column, reduction};
    return {batch, reduction, column};
  }

  void add_buffer(DType dtype, const std::vector<int64_t>& dims, StorageMap storage) {
    Buffer buffer;
    buffer.dtype = dtype;
    for (const int64_t dim : dims) buffer.dims.push_back(number(dim));
    buffer.capacity = buffer.dims;
    buffer.storage = std::move(storage);
    graph_.buffers.push_back(std::move(buffer));
  }

  // Returns the index along a new outer axis.
  ExpressionId add_axis(int64_t extent) {
    if (extent == 1) return number(0);
    const auto axis = static_cast<int32_t>(nest().axes.size());
    const SymbolId symbol = table().add_symbol(axis_symbol(table(), number(extent)));
    graph_.symbols.push_back({SymbolRole::kAxis, 0, axis});
    nest().axes.push_back({symbol, number(extent)});
    return table().symbol_expression(symbol);
  }

  InstructionId load(std::vector<ExpressionId> index, std::vector<Guard> guards) {
    Instruction load;
    load.kind = InstructionKind::kLoad;
    load.access = {1, std::move(index)};
    if (!guards.empty()) load.operands[0] = append({});  // 0
    load.guards = std::move(guards);
    return append(std::move(load));
  }

  InstructionId append(Instruction instruction) {
    const auto id = static_cast<InstructionId>(nest().instructions.size());
    nest().instructions.push_back(std::move(instruction));
    nest().sweeps[0].instructions.push_back(id);
    return id;
  }

  const Packing packing_;
  const int64_t steps_;  // of the reduction in the operand
  LoopGraph graph_;
};

}  // namespace

LoopGraph packing_loops(const Packing& packing) { return PackingLoops(packing).run(); }

}  // namespace sluice::loop
