// The copy of a direct convolution's input into planes (direct_geometry.h).
#pragma once

#include "stages/subgraph-optimize/codegen/conv/direct_tile.h"

namespace sluice {

// Writes an internal function void(x, to, first row, rows): x is one slice of one channel of one
// image, `to` its kw planes, `first row` (i64, may be outside the image) the input row under kernel
// row 0 of the chunk's first output row, and `rows` the rows of each phase. Vectors are stored
// whole, so up to a vector of floats after each row is overwritten: rows are written in ascending
// order.
//
// The function for symbolic sizes has more parameters: the symbols, the planes' layout, and the
// first output column, which is 0 unless rows are cut.
llvm::Function* emit_plane_copy(KernelBuilder& builder, const ConvSpec& spec,
                                const DirectGeometry& geometry, bool cuts_rows);

}  // namespace sluice
