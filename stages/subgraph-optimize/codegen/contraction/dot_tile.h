// Dot products of a row with several columns of an operand, both contiguous along the reduction:
// vectors run along it, and lanes are added up at the end. Nothing is packed, so that one row costs
// no more than reading the operand.
#pragma once

#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"

namespace sluice {

struct DotOperands {
  Extent length = 1;         // of the reduction
  Extent column_stride = 1;  // from one column to the next
  DType a = DType::kF32, b = DType::kF32;
};

// Writes a tile function (microkernel.h) of one row, whose columns are at most as many as the
// profile's vectors have lanes: those of one vector, or single ones. b points at the first column.
llvm::Function* emit_dot_tile(KernelBuilder& builder, const std::string& name,
                              const TileShape& shape, const DotOperands& operands,
                              const TileOutput& output);

// Writes an internal function void(a, b, c, columns) for f32:
//
//   for j < lanes (written out): c[j] = sum over k < length of a[k] * b[min(j, columns - 1)][k]
//
// where columns of b lie column_stride apart. columns is an i64 of at least 1.
struct DotTile {
  int lanes = 1;
  int64_t length = 1;
  int64_t column_stride = 1;
  DType dtype = DType::kF32;           // of b; a and c are f32
  const Epilogue* epilogue = nullptr;  // without operands
};
llvm::Function* emit_dot_tile(KernelBuilder& builder, const std::string& name, const DotTile& tile);

// Returns a vector whose lane i is the sum of all lanes of vector i.
llvm::Value* sum_lanes(KernelBuilder& builder, IrValues vectors);

}  // namespace sluice
