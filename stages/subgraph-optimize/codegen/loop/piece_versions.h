// Emits a piece in versions: where all guards hold and no limit of an offset takes effect, without
// them; else, where those guards hold that are the same for all lanes, without those; else whole.
//
// It tells guards and loads which version they are of, and the sweeps are what it emits. Include it
// only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "stages/subgraph-optimize/codegen/loop/sweep_emitter.h"

namespace sluice {

class PieceVersions {
 public:
  PieceVersions(const PlannedNest& nest, PieceValues& values, GuardEmitter& guards,
                LoadEmitter& loads, SweepEmitter& sweeps);

  void emit();  // the piece at hand

 private:
  using Range = std::pair<llvm::Value*, llvm::Value*>;  // the least and the largest value
  struct Linear {
    int64_t stride;
    ExpressionId remainder;
  };
  struct PlainOffsets {
    std::vector<ExpressionId> offsets;       // of loads, by instruction; see without_limits
    std::vector<ExpressionId> non_negative;  // of all of them
  };

  PlainOffsets plain_offsets() const;
  void emit_plain(std::vector<ExpressionId>& offsets);
  void emit_limited();
  void emit_without(IgnoredGuards ignored);
  llvm::Value* none_is_negative(const std::vector<ExpressionId>& expressions);
  llvm::Value* all_hold(const std::vector<loop::Guard>& guards);
  std::optional<Range> extremes(ExpressionId id);
  std::optional<Linear> linear_in(SymbolId symbol, ExpressionId id) const;
  bool add_counted(Range& range, ExpressionId id, SymbolId symbol, int64_t points);
  bool add_inner(Range& range, ExpressionId& id, loop::AxisId axis);

  const PlannedNest& nest_;
  PieceValues& values_;
  GuardEmitter& guards_;
  LoadEmitter& loads_;
  SweepEmitter& sweeps_;
  std::vector<loop::Guard> all_;  // guards of the nest, each once
};

}  // namespace sluice
