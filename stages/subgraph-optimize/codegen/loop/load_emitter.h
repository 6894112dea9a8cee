// Loads: which lanes lie how in memory, and the cheapest way to fill a vector with them.
//
// It has the offsets of the loads as they are for the piece at hand, and needs the values of the
// piece, guards, elements in memory, and what loads share. Include it only in files that emit IR:
// it brings LLVM's headers.
#pragma once

#include <map>
#include <vector>

#include "stages/subgraph-optimize/codegen/loop/shared_loads.h"

namespace sluice {

class LoadEmitter {
 public:
  LoadEmitter(const PlannedNest& nest, PieceValues& values, GuardEmitter& guards,
              MemoryElements& memory, SharedLoads& shared)
      : nest_(nest),
        values_(values),
        guards_(guards),
        memory_(memory),
        shared_(shared),
        offsets_(nest.flat.load_offsets) {}

  llvm::Value* emit(loop::InstructionId id, int copy);

  // The offsets by instruction, and others that are equal for the piece at hand.
  const std::vector<ExpressionId>& offsets() const { return offsets_; }
  void swap_offsets(std::vector<ExpressionId>& offsets) { offsets_.swap(offsets); }

 private:
  Element element_of(loop::InstructionId id) const {
    return {nest_.instruction(id).access.buffer, offsets_[static_cast<size_t>(id)]};
  }
  llvm::Value* load_guarded(loop::InstructionId id, int copy);
  llvm::Value* neighbour_condition(const loop::Guard& guard, int copy);
  llvm::Value* load_elements(const Element& element, int copy, llvm::Value* mask);
  llvm::Value* load_one(const Element& element, int copy, llvm::Value* mask);
  llvm::Value* load_row(const Element& element, int copy, llvm::Value* mask);
  llvm::Value* gather(const Element& element, int copy, llvm::Value* mask);
  llvm::Value* load_pattern(const Element& element, int copy, llvm::Value* mask);
  llvm::Value* load_strided(llvm::Type* type, llvm::Value* from, int64_t stride, llvm::Align align);
  llvm::Value* load_repeated(llvm::Type* type, llvm::Value* from, int64_t times, llvm::Align align,
                             llvm::Value* mask);
  int64_t times_repeated(ExpressionId offset);

  const PlannedNest& nest_;
  PieceValues& values_;
  GuardEmitter& guards_;
  MemoryElements& memory_;
  SharedLoads& shared_;
  std::vector<ExpressionId> offsets_;         // by instruction
  std::map<ExpressionId, int64_t> repeated_;  // looked up only
};

}  // namespace sluice
