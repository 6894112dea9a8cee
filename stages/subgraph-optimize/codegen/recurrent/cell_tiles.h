// The tile functions of a walk, and which of them a group of sequences needs.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <utility>
#include <vector>

#include "stages/subgraph-optimize/codegen/recurrent/cell_tile.h"

namespace sluice {

class CellTiles {
 public:
  // The tiles of groups of so many sequences: of one, or of any other number. A sequence alone has
  // more hidden units in a tile.
  struct Kind {
    int sums = 1;  // vectors for each row
    std::vector<int> rows;
  };
  // The hidden units of a tile.
  struct Units {
    int vectors = 1;
    int active = 1;  // of the last vector
    bool operator==(const Units&) const = default;
  };

  // Emits all tile functions.
  CellTiles(KernelBuilder& builder, const RecurrentSpec& spec, const RecurrentPlan& plan);

  const std::vector<CellPhase>& phases() const { return phases_; }
  bool may_be_alone() const { return plan_.rows == 1 || !spec_.batch.is_fixed(); }
  bool may_be_together() const { return plan_.rows > 1; }
  Kind alone() const { return {plan_.sums_alone, {1}}; }
  Kind together() const;
  // Returns the units of whole tiles.
  int64_t whole(const CellPhase& phase, const Kind& kind) const;
  // Returns whole tiles, where there are any, then the last short one, where there is one.
  std::vector<Units> units(const CellPhase& phase, const Kind& kind) const;

  // Directions share functions when their activations are equal; then it is 0 for both.
  bool directions_differ() const;
  llvm::Function* find(const CellPhase& phase, size_t direction, int rows,
                       const Units& units) const;

 private:
  void emit(KernelBuilder& builder, const Kind& kind);

  const RecurrentSpec& spec_;
  const RecurrentPlan& plan_;
  std::vector<CellPhase> phases_;
  std::vector<std::pair<CellTileShape, llvm::Function*>> functions_;
};

}  // namespace sluice
