#include "common/loop/prologue.h"

#include <algorithm>

#include "common/loop/text.h"

namespace sluice::loop {
namespace {

constexpr BufferId kMatrix = 0;

// Makes loops over a value loops over a matrix:
//
//   nest for n < 2, c < 3, h < 4 { … store y[n, c, h] = %1 }          columns: c
//   nest for r < 8, c < 3 { … store y[r, c] = %1 }                    n = r / 4, h = r % 4
class MatrixForm {
 public:
  MatrixForm(LoweredNode lowered, size_t columns, std::string label)
      : graph_(std::move(lowered.graph)),
        operands_(std::move(lowered.operands)),
        columns_(columns),
        label_(std::move(label)) {}

  Result<LoweredPrologue> run() {
    const Buffer& value = graph_.buffers[kMatrix];
    if (!std::ranges::all_of(graph_.buffers, [](const Buffer& own) { return !own.is_local; }) ||
        value.dtype != DType::kF32 || !table().as_constant(value.dims[columns_]))
      return refused("is no matrix of f32 of a known number of columns");
    const size_t rank = value.dims.size();
    for (size_t axis = 0; axis < rank; ++axis) {
      if (axis == columns_) continue;
      row_axes_.push_back(axis);
      rows_ = rows_ < 0 ? value.dims[axis] : table().multiply(rows_, value.dims[axis]);
    }
    if (rows_ < 0) return refused("has no rows");
    SLUICE_TRY(renumber_sizes(static_cast<int32_t>(rank)));
    for (size_t nest = 0; nest < graph_.nests.size(); ++nest) {
      if (!is_pointwise(graph_.nests[nest])) return refused("has sums or loops of its own");
      SLUICE_TRY(walk_rows(static_cast<int32_t>(nest)));
    }
    Buffer& matrix = graph_.buffers[kMatrix];
    matrix.dims = matrix.capacity = {rows_, matrix.dims[columns_]};
    matrix.storage = dense_map(2);
    return LoweredPrologue{canonical(graph_), {operands_.begin() + 1, operands_.end()}};
  }

 private:
  ExpressionTable& table() { return graph_.expressions; }

  Error refused(const char* reason) const {
    return make_error(ErrorCode::kNotLowerable, "{}: what its contraction reads {}", label_,
                      reason);
  }

  // An element is computed from others, and stored once.
  static bool is_pointwise(const Nest& nest) {
    return nest.sweeps.size() == 1 && nest.sweeps[0].axes.empty() && nest.accumulators.empty() &&
           nest.sweeps[0].stores.size() == 1 && nest.sweeps[0].stores[0].guards.empty() &&
           nest.sweeps[0].stores[0].access.buffer == kMatrix;
  }

  // A size that is a dim of the value becomes the same dim of what is read.
  Result<void> renumber_sizes(int32_t rank) {
    for (size_t i = 0; i < graph_.symbols.size(); ++i) {
      LoopSymbol& symbol = graph_.symbols[i];
      if (symbol.role != SymbolRole::kSize) continue;
      symbol.index = symbol.index < rank
                         ? find_read_dim(table().symbol_expression(static_cast<SymbolId>(i)))
                         : symbol.index - rank + 2;
      if (symbol.index < 0) return refused("has a size that none of its own operands has");
    }
    return {};
  }

  int32_t find_read_dim(ExpressionId size) const {
    int32_t index = 2;  // after those of the matrix
    for (size_t i = kMatrix + 1; i < graph_.buffers.size(); ++i) {
      for (const ExpressionId dim : graph_.buffers[i].dims) {
        if (dim == size) return index;
        ++index;
      }
    }
    return -1;
  }

  // Replaces the axes along the rows of the value by one along those of the matrix.
  Result<void> walk_rows(int32_t id) {
    Nest& nest = graph_.nests[static_cast<size_t>(id)];
    Store& store = nest.sweeps[0].stores[0];
    const SymbolId row = table().add_symbol(axis_symbol(table(), rows_));
    graph_.symbols.push_back({SymbolRole::kAxis, id, 0});
    std::vector<ExpressionId> replacement(table().symbol_count(), -1);
    ExpressionId position = table().symbol_expression(row);
    for (size_t i = row_axes_.size(); i-- > 0;) {
      const ExpressionId extent = graph_.buffers[kMatrix].dims[row_axes_[i]];
      const ExpressionId index = store.access.index[row_axes_[i]];
      if (table().as_constant(extent) == 1) continue;
      const Expression& walked = table()[index];
      if (walked.op != ExpressionOp::kSymbol) return refused("is stored row by row in parts");
      const ExpressionId outer = i == 0 ? -1 : table().floor_divide(position, extent);
      replacement[static_cast<size_t>(walked.value)] =
          i == 0 ? position : table().subtract(position, table().multiply(outer, extent));
      position = outer;
    }
    std::vector<Axis> axes = {{row, rows_}};
    for (const Axis& axis : nest.axes)
      if (replacement[static_cast<size_t>(axis.symbol)] < 0) axes.push_back(axis);
    nest.axes = std::move(axes);
    nest.outer = static_cast<int32_t>(nest.axes.size());
    for (int32_t axis = 0; axis < nest.outer; ++axis)
      graph_.symbols[static_cast<size_t>(nest.axes[static_cast<size_t>(axis)].symbol)].index = axis;
    store.access.index = {table().symbol_expression(row), store.access.index[columns_]};
    substitute(table(), nest, replacement);
    return {};
  }

  LoopGraph graph_;
  std::vector<const Value*> operands_;
  size_t columns_;
  std::string label_;
  std::vector<size_t> row_axes_;  // of the value
  ExpressionId rows_ = -1;
};

}  // namespace

Result<LoweredPrologue> lower_prologue(const Node& fused, const Value& value, size_t columns) {
  SLUICE_ASSIGN(LoweredNode lowered, lower_value(fused, value));
  return MatrixForm(std::move(lowered), columns, fused.label()).run();
}

Result<LoweredPrologue> lower_prologue(const Node& node, size_t columns) {
  SLUICE_ASSIGN(LoweredNode lowered, lower_node(node));
  return MatrixForm(std::move(lowered), columns, node.label()).run();
}

}  // namespace sluice::loop
