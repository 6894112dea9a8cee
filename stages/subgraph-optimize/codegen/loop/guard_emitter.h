// The conditions under which the accesses of a piece happen: which guards are known to hold, and
// code that finds out about the others.
//
// It needs the values of the piece. Include it only in files that emit IR: it brings LLVM's
// headers.
#pragma once

#include <functional>
#include <vector>

#include "stages/subgraph-optimize/codegen/loop/piece_values.h"

namespace sluice {

// Guards that hold for the piece at hand.
enum class IgnoredGuards : uint8_t { kNone, kUniform, kAll };

class GuardEmitter {
 public:
  GuardEmitter(const PlannedNest& nest, PieceValues& values) : nest_(nest), values_(values) {}

  void ignore(IgnoredGuards ignored) { ignored_ = ignored; }
  bool is_ignored(const loop::Guard& guard) const {
    return ignored_ == IgnoredGuards::kAll ||
           (ignored_ == IgnoredGuards::kUniform && is_uniform(guard));
  }
  bool are_ignored(const std::vector<loop::Guard>& guards) const;  // all of them
  // Whether it is the same for all lanes of the piece at hand.
  bool is_uniform(const loop::Guard& guard) const {
    return !values_.differs(guard.value) && !values_.differs(guard.limit);
  }

  // All guards hold: one bool, or one for each lane.
  llvm::Value* condition(const std::vector<loop::Guard>& guards, int copy);
  // The same of one guard that is the same for all lanes.
  llvm::Value* uniform_condition(const loop::Guard& guard, int copy);
  // Of a guard whose value grows by one a lane and whose limit is the same: in which lanes it
  // holds. Null: the numbers may not fit 32 bits.
  llvm::Value* neighbours_below(const loop::Guard& guard, int copy);

  // Computes `value` only where the condition holds, by a branch.
  llvm::Value* under(llvm::Value* condition, const std::function<llvm::Value*()>& value,
                     llvm::Value* otherwise);

 private:
  llvm::Value* lanes_condition(const loop::Guard& guard, int copy);
  llvm::Value* widened_in(llvm::BasicBlock* block, llvm::Value* number);

  const PlannedNest& nest_;
  PieceValues& values_;
  IgnoredGuards ignored_ = IgnoredGuards::kNone;
};

}  // namespace sluice
