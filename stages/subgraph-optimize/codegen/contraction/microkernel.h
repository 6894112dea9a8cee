// The register tile: rows x (vectors * lanes) sums of products kept in registers over the whole
// reduction, then the epilogue and the stores.
//
// The shape of the loop follows the GotoBLAS/BLIS micro-kernel (Van Zee and van de Geijn, "BLIS",
// ACM TOMS 2015): per reduction step, `vectors` loads of B and `rows` broadcasts of A feed rows *
// vectors multiply-adds. Where the strides along rows and reduction are fixed, all rows are
// addressed from one register; otherwise every four rows have one.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

struct TileShape {
  int rows = 1;
  int vectors = 1;
  int lanes = 1;
  // Lanes of the last vector that exist in the output; the others are neither loaded from operands
  // nor stored.
  int active = 1;
  // A symbolic tile function has two more parameters: the address of the symbols' values, and the
  // active lanes if `active` is 0.
  bool is_symbolic = false;
  bool operator==(const TileShape&) const = default;
};

struct TileReduction {
  Extent length = 1;     // steps in a row: a contiguous run of the reduction
  int64_t segments = 1;  // runs
  // By strides: A(i, k) = a[i * row_stride + k * k_stride] and segments is 1. By pointers: `a`
  // is a table of pointers [segments][table_rows] and A(i, s * length + k) = table[s][i][k];
  // length and b_stride are fixed.
  bool by_pointers = false;
  int64_t table_rows = 0;
  Extent row_stride = 0, k_stride = 1;
  Extent b_stride = 0;         // from one step of B to the next
  Extent b_column_stride = 1;  // strides other than 1 are gathered, element by element
  bool b_is_exact = false;     // B has only existing columns: the last vector is loaded with a mask
  // The elements of A and B in memory; strides count elements.
  DType a = DType::kF32, b = DType::kF32;
  // Reads B, of bf16, in pairs of steps (emit/bf16_pairs.h). Where B is not exact it is packed in
  // pairs: [ceil(length / 2)][columns][2], the last one filled up with 0. A is bf16 too, or f32
  // where no instruction takes pairs.
  bool in_pairs = false;
};

// The position of the rows of the result or of an epilogue operand: row r is at (r / image_rows) *
// image_stride + (r % image_rows) * row_stride, or at r * row_stride when image_rows is 0.
struct TileRows {
  Extent row_stride = 0;
  Extent image_stride = 0;
  Extent image_rows = 0;
};

struct TileOutput {
  TileRows rows;
  const Epilogue* epilogue = nullptr;
  std::vector<TileRows> operand_rows;  // one per operand
};

// Writes an internal function void(a, b, c, row, operands...): a, b, c point at the tile, c at row
// 0 where its rows are of images; row (i64) is the tile's first row, which operands are addressed
// with; each operand pointer is already at the tile's first column and batch entry. For a symbolic
// tile see TileShape.
llvm::Function* emit_tile(KernelBuilder& builder, const std::string& name, const TileShape& shape,
                          const TileReduction& reduction, const TileOutput& output);

}  // namespace sluice
