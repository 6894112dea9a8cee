// Stores: of single elements, rows and scattered elements under the masks of a piece; whole vectors
// go past the caches where the plan says so.
//
// It needs the values of the piece, guards, and elements in memory. Include it only in files that
// emit IR: it brings LLVM's headers.
#pragma once

#include "stages/subgraph-optimize/codegen/loop/guard_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/memory_elements.h"

namespace sluice {

class StoreEmitter {
 public:
  StoreEmitter(const PlannedNest& nest, PieceValues& values, GuardEmitter& guards,
               MemoryElements& memory)
      : nest_(nest), values_(values), guards_(guards), memory_(memory) {}

  void emit(size_t sweep);  // all stores of a sweep

  // Whether the points of a long row begin where whole vectors of the piece at hand can be stored
  // with their alignment: a vector that is not aligned cannot go past the caches, and one of a
  // line's length takes two lines.
  bool is_worth_aligning();
  // The first point from `begin` on, which the lane axis has, whose element has that alignment.
  llvm::Value* first_aligned(llvm::Value* begin, llvm::Value* end);

 private:
  struct OneStore {
    const loop::Store& store;
    Element element;
    DType dtype;
  };
  OneStore store_of(size_t sweep, size_t number) const;
  void emit_copies(const OneStore& own);
  void emit_copy(const OneStore& own, int copy);
  void store_elements(const OneStore& own, int copy, llvm::Value* value, llvm::Value* mask);
  void store_one(const OneStore& own, int copy, llvm::Value* value);
  void store_row(const OneStore& own, int copy, llvm::Value* lanes, llvm::Value* mask);
  void scatter(const OneStore& own, int copy, llvm::Value* lanes, llvm::Value* mask);
  int whole_vector_bytes(const OneStore& own);
  bool store_past_caches(const OneStore& own);
  bool reads_buffer(loop::BufferId buffer) const;

  const PlannedNest& nest_;
  PieceValues& values_;
  GuardEmitter& guards_;
  MemoryElements& memory_;
};

}  // namespace sluice
