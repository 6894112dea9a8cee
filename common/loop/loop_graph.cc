#include "common/loop/loop_graph.h"

#include <algorithm>

namespace sluice::loop {

Symbol axis_symbol(const ExpressionTable& expressions, ExpressionId extent) {
  const int64_t high = expressions.bounds(extent).high;
  Symbol symbol;
  symbol.low = 0;
  symbol.high = high == INT64_MAX ? INT64_MAX : std::max<int64_t>(high, 1) - 1;
  return symbol;
}

bool is_fixed(const LoopGraph& graph) {
  return std::ranges::none_of(
      graph.symbols, [](const LoopSymbol& symbol) { return symbol.role == SymbolRole::kSize; });
}

namespace {

// The extent of a stored axis.
ExpressionId stored_extent(ExpressionTable& table, const Buffer& buffer, const StoredAxis& axis) {
  if (axis.modulus > 0) return table.constant(axis.modulus);
  const ExpressionId whole = buffer.capacity[static_cast<size_t>(axis.dim)];
  return axis.divisor == 1 ? whole : table.ceil_divide(whole, table.constant(axis.divisor));
}

ExpressionId stored_index(ExpressionTable& table, const StoredAxis& axis, ExpressionId index) {
  if (axis.divisor != 1) index = table.floor_divide(index, table.constant(axis.divisor));
  return axis.modulus > 0 ? table.modulo(index, table.constant(axis.modulus)) : index;
}

}  // namespace

ExpressionId offset_of(LoopGraph& graph, const Access& access) {
  ExpressionTable& table = graph.expressions;
  const Buffer& buffer = graph.buffers[static_cast<size_t>(access.buffer)];
  if (is_packed(buffer.dtype)) return access.index[0];
  ExpressionId offset = table.constant(0), stride = table.constant(1);
  for (size_t i = buffer.storage.size(); i-- > 0;) {
    const StoredAxis& axis = buffer.storage[i];
    const ExpressionId index =
        stored_index(table, axis, access.index[static_cast<size_t>(axis.dim)]);
    offset = table.add(offset, table.multiply(index, stride));
    stride = table.multiply(stride, stored_extent(table, buffer, axis));
  }
  return offset;
}

ExpressionId stored_elements(LoopGraph& graph, const Buffer& buffer) {
  ExpressionTable& table = graph.expressions;
  ExpressionId elements = table.constant(1);
  for (const StoredAxis& axis : buffer.storage)
    elements = table.multiply(elements, stored_extent(table, buffer, axis));
  return elements;
}

bool mentions(const ExpressionTable& table, ExpressionId id, SymbolId symbol) {
  const Expression& e = table[id];
  if (e.op == ExpressionOp::kConstant) return false;
  if (e.op == ExpressionOp::kSymbol) return e.value == symbol;
  return mentions(table, e.a, symbol) || mentions(table, e.b, symbol);
}

std::optional<Linear> split_linear(ExpressionTable& table, ExpressionId id, SymbolId symbol) {
  if (!mentions(table, id, symbol)) return Linear{table.constant(0), id};
  const Expression e = table[id];
  if (e.op == ExpressionOp::kSymbol) return Linear{table.constant(1), table.constant(0)};
  if (e.op != ExpressionOp::kAdd && e.op != ExpressionOp::kMul) return std::nullopt;
  const auto a = split_linear(table, e.a, symbol), b = split_linear(table, e.b, symbol);
  if (!a || !b) return std::nullopt;
  if (e.op == ExpressionOp::kAdd)
    return Linear{table.add(a->stride, b->stride), table.add(a->remainder, b->remainder)};
  const bool a_has = mentions(table, e.a, symbol), b_has = mentions(table, e.b, symbol);
  if (a_has && b_has) return std::nullopt;
  const Linear& with = a_has ? *a : *b;
  const ExpressionId factor = a_has ? e.b : e.a;
  return Linear{table.multiply(with.stride, factor), table.multiply(with.remainder, factor)};
}

bool is_narrow(DType dtype) {
  return (dtype_is_float(dtype) && dtype_bits(dtype) <= 8) || is_packed(dtype);
}

bool is_packed(DType dtype) {
  const int bits = dtype_bits(dtype);
  return bits > 0 && bits < 8;
}

int access_bits(DType dtype) { return is_packed(dtype) ? 8 : dtype_bits(dtype); }

DType register_dtype(DType dtype) {
  if (is_narrow(dtype)) return DType::kU8;
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

bool is_register_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kBool:
      return true;
    default:
      return dtype_is_integer(dtype) && dtype_bits(dtype) >= 8;
  }
}

}  // namespace sluice::loop
