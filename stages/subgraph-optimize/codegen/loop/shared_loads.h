// What the points of a repeat axis share of their loads: guards, and indices along the lanes.
// Gathered elements that lie close together, in all lanes, are a window: its neighbours are loaded
// as one vector and permuted.
//
// It needs the values of the piece, guards, and elements in memory. Include it only in files that
// emit IR: it brings LLVM's headers.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "stages/subgraph-optimize/codegen/loop/guard_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/memory_elements.h"

namespace sluice {

struct SharedLoad {                  // of one copy of a load
  llvm::Value* condition = nullptr;  // of its guards; null: there are none, or they differ
  ExpressionId stride = -1;          // along the repeat axis; -1: indices differ
  llvm::Value* index = nullptr;      // by lane, of the axis's point 0
  llvm::Value* low = nullptr;        // the least index
  llvm::Value* window = nullptr;     // mask of the neighbours from `low` on; null: no window
  llvm::Value* places = nullptr;     // of the lanes in the window
};

class SharedLoads {
 public:
  SharedLoads(const PlannedNest& nest, PieceValues& values, GuardEmitter& guards,
              MemoryElements& memory);

  // Computes what the loads inside the loop of the repeat axis share. Returns whether all windows
  // are no longer than a register (null: there are none).
  llvm::Value* prepare();
  void use_windows(bool uses) { uses_windows_ = uses; }
  void clear() { shared_.clear(); }

  // Null: the load shares nothing.
  const SharedLoad* find(loop::InstructionId id, int copy) const;
  // Loads elements whose places in the window, or whose indices, are known.
  llvm::Value* load(const SharedLoad& shared, loop::BufferId buffer, llvm::Value* mask);

 private:
  llvm::Value* share(loop::InstructionId id, int copy);
  bool depends(ExpressionId id) const;  // on the repeat axis
  llvm::Value* shared_condition(const std::vector<loop::Guard>& guards, int copy);
  llvm::Value* find_window(SharedLoad& shared, DType dtype, llvm::Value* there);
  llvm::Value* extreme_index(llvm::Value* index, llvm::Value* mask, bool is_max);
  llvm::Value* gather(const SharedLoad& shared, loop::BufferId buffer, llvm::Value* first,
                      llvm::Value* mask);

  const PlannedNest& nest_;
  PieceValues& values_;
  GuardEmitter& guards_;
  MemoryElements& memory_;
  SymbolId repeated_ = -1;       // the symbol of the repeat axis
  std::vector<bool> by_repeat_;  // by instruction: differs between the axis's points
  std::map<std::pair<loop::InstructionId, int>, SharedLoad> shared_;  // and by copy
  bool uses_windows_ = false;
};

}  // namespace sluice
