// The copy of a direct convolution's input into planes (direct_geometry.h).
#pragma once

#include "stages/subgraph-optimize/codegen/conv/direct_geometry.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

// Writes an internal function void(x, to, first row, rows): x is one channel of one image, `to` its
// kw planes, `first row` (i64, may be negative) the input row under kernel row 0 of the chunk's
// first output row, and `rows` the rows of each phase. Vectors are stored whole, so up to a vector
// of floats after each row is overwritten: rows are written in ascending order.
llvm::Function* emit_plane_copy(KernelBuilder& builder, const ConvSpec& spec,
                                const DirectGeometry& geometry);
// Writes the function for symbolic sizes, with more parameters: the symbols, the floats from one
// phase of a plane to the next, and from plane to plane; where rows are cut also the first output
// column and the number of columns.
llvm::Function* emit_symbolic_plane_copy(KernelBuilder& builder, const ConvSpec& spec,
                                         const DirectGeometry& geometry, bool cuts_rows);

}  // namespace sluice
