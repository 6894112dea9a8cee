#include "stages/subgraph-optimize/codegen/recurrent/cell_tiles.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/emit/choice.h"

namespace sluice {

CellTiles::CellTiles(KernelBuilder& builder, const RecurrentSpec& spec, const RecurrentPlan& plan)
    : spec_(spec), plan_(plan), phases_(cell_phases(spec.cell)) {
  if (may_be_alone()) emit(builder, alone());
  if (may_be_together()) emit(builder, together());
}

// Two rows or more are never cut into single ones where a tile has three.
CellTiles::Kind CellTiles::together() const {
  return {plan_.sums, numbers(plan_.rows > 2 ? 2 : 1, plan_.rows)};
}

int64_t CellTiles::whole(const CellPhase& phase, const Kind& kind) const {
  return int64_t{cell_tile_vectors(spec_, plan_, phase, kind.sums)} * plan_.lanes;
}

std::vector<CellTiles::Units> CellTiles::units(const CellPhase& phase, const Kind& kind) const {
  const int64_t hidden = spec_.cell.hidden, units = whole(phase, kind), remainder = hidden % units;
  std::vector<Units> shapes;
  if (hidden >= units) shapes.push_back({static_cast<int>(units / plan_.lanes), plan_.lanes});
  if (remainder > 0) {
    const auto last = static_cast<int>((remainder - 1) / plan_.lanes);
    shapes.push_back({last + 1, static_cast<int>(remainder) - last * plan_.lanes});
  }
  return shapes;
}

bool CellTiles::directions_differ() const {
  const auto& activations = spec_.cell.activations;
  return activations.size() == 2 && activations[0] != activations[1];
}

void CellTiles::emit(KernelBuilder& builder, const Kind& kind) {
  for (size_t direction = 0; direction < (directions_differ() ? 2u : 1u); ++direction) {
    for (const CellPhase& phase : phases_) {
      for (const Units& own : units(phase, kind)) {
        for (const int rows : kind.rows) {
          const CellTileShape shape{phase, direction, rows, own.vectors, own.active};
          functions_.emplace_back(shape, emit_cell_tile(builder, spec_, plan_, shape));
        }
      }
    }
  }
}

llvm::Function* CellTiles::find(const CellPhase& phase, size_t direction, int rows,
                                const Units& units) const {
  const auto tile = std::find_if(functions_.begin(), functions_.end(), [&](const auto& known) {
    const CellTileShape& own = known.first;
    return own.phase.first_gate == phase.first_gate && own.direction == direction &&
           own.rows == rows && Units{own.vectors, own.active} == units;
  });
  return tile->second;
}

}  // namespace sluice
