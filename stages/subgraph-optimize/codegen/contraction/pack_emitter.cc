#include "stages/subgraph-optimize/codegen/contraction/pack_emitter.h"

#include "stages/subgraph-optimize/codegen/emit/register_transpose.h"

namespace sluice {
namespace {

using llvm::Value;

int lanes_of(const KernelBuilder& b, const PanelSource& source) {
  int lanes = b.profile().vector_bits / 32;
  while (source.nr % lanes != 0) lanes /= 2;
  return lanes;
}

// Emits panels whose columns are contiguous along the rows; squares are transposed in registers:
//
//   for column by lanes:
//     for k by lanes: v[i] = source[column + i][k...] (written out); transpose v
//                     panel[k + i][column...] = v[i] (written out)
//     for k of the remainder: panel[k][column + i] = source[column + i][k] (written out)
//
// Columns past the end are copies of the last one.
void emit_turned_panel(KernelBuilder& b, const PanelSource& source, Value* active, Value* to) {
  const int lanes = lanes_of(b, source);
  Value* last = b.sub(active, b.index(1));
  Value* length = b.value(source.rows);
  Value* whole = b.mul(b.div(length, lanes), lanes);
  b.loop(b.index(0), active, lanes, [&](Value* column) {
    IrValues columns;
    for (int i = 0; i < lanes; ++i) {
      columns.push_back(
          b.at(source.first, b.mul(b.min(b.add(column, b.index(i)), last), source.column_stride)));
    }
    b.loop(b.index(0), whole, lanes, [&](Value* k) {
      IrValues square;
      for (Value* from : columns) square.push_back(b.load_vector(b.at(from, k), lanes, lanes));
      transpose_in_registers(b, square);
      Value* row = b.at(b.at(to, b.mul(k, source.nr)), column);
      for (int i = 0; i < lanes; ++i) b.store_vector(square[i], b.at(row, i * source.nr), lanes);
    });
    b.loop(whole, length, 1, [&](Value* k) {
      Value* row = b.at(b.at(to, b.mul(k, source.nr)), column);
      for (int i = 0; i < lanes; ++i)
        b.ir().CreateAlignedStore(b.load_float(b.at(columns[i], k)), b.at(row, i), llvm::Align(4));
    });
  });
}

// Emits for k < rows: body(source row k, panel row k).
void emit_rows(KernelBuilder& b, const PanelSource& source, Value* to,
               const std::function<void(Value* from, Value* row)>& body) {
  b.loop(b.index(0), b.value(source.rows), 1, [&](Value* k) {
    body(b.at(source.first, b.mul(k, source.row_stride)), b.at(to, b.mul(k, source.nr)));
  });
}

// Emits whole panels whose columns are neighbours in memory, a row's columns written out.
void emit_straight_panel(KernelBuilder& b, const PanelSource& source, Value* to) {
  const int lanes = lanes_of(b, source);
  emit_rows(b, source, to, [&](Value* from, Value* row) {
    for (int64_t column = 0; column < source.nr; column += lanes)
      b.store_vector(b.load_vector(b.at(from, column), lanes, lanes), b.at(row, column), lanes);
  });
}

void emit_strided_panel(KernelBuilder& b, const PanelSource& source, Value* active, Value* to) {
  emit_rows(b, source, to, [&](Value* from, Value* row) {
    b.loop(b.index(0), active, 1, [&](Value* j) {
      Value* element = b.load_float(b.at(from, b.mul(j, source.column_stride)));
      b.ir().CreateAlignedStore(element, b.at(row, j), llvm::Align(4));
    });
  });
}

}  // namespace

void emit_pack_panel(KernelBuilder& b, const PanelSource& source, Value* panel, Value* to) {
  const bool has_vectors = source.nr % 4 == 0;
  if (source.row_stride.is_fixed_at(1) && has_vectors) {
    Value* remainder = b.sub(b.value(source.columns), b.mul(panel, source.nr));
    return emit_turned_panel(b, source, b.min(remainder, b.index(source.nr)), to);
  }
  const auto emit_whole = [&] {
    if (source.column_stride.is_fixed_at(1) && has_vectors)
      return emit_straight_panel(b, source, to);
    emit_strided_panel(b, source, b.index(source.nr), to);
  };
  const Extent& columns = source.columns;
  if (columns.is_fixed() && columns.factor % source.nr == 0) return emit_whole();
  if (columns.is_fixed() && columns.factor < source.nr)
    return emit_strided_panel(b, source, b.index(columns.factor), to);
  Value* whole = b.div(b.value(columns), source.nr);
  b.if_else(b.ir().CreateICmpSLT(panel, whole), emit_whole, [&] {
    emit_strided_panel(b, source, b.sub(b.value(columns), b.mul(whole, source.nr)), to);
  });
}

}  // namespace sluice
