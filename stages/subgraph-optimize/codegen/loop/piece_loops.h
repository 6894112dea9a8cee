// Walks an axis in pieces: as many vectors as are computed side by side, then single ones, then the
// rest under a mask, or point by point.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <functional>

#include "stages/subgraph-optimize/codegen/loop/piece_values.h"

namespace sluice {

struct PieceRange {
  SymbolId symbol = -1;  // of the axis that is walked: of lanes, and of copies
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
  int unroll = 1;        // vectors side by side
  bool is_even = false;  // no piece is smaller than the others
};

using PieceBody = std::function<IrValues(const IrValues& carried)>;

// Runs `body` for pieces that cover the range, with `carried` values through all.
IrValues emit_pieces(const PlannedNest& nest, PieceValues& values, const PieceRange& range,
                     IrValues carried, const PieceBody& body);
void emit_pieces(const PlannedNest& nest, PieceValues& values, const PieceRange& range,
                 const std::function<void()>& body);

// Whether the remainder of an axis is computed in vectors under a mask.
bool masks_remainders(const PlannedNest& nest);

}  // namespace sluice
