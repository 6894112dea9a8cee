// Elements of buffers: their types in memory, their addresses, and how those of a piece's lanes
// lie.
//
// It has the addresses of the buffers and needs the values of the piece. Include it only in files
// that emit IR: it brings LLVM's headers.
#pragma once

#include <vector>

#include "stages/subgraph-optimize/codegen/emit/math.h"
#include "stages/subgraph-optimize/codegen/loop/piece_values.h"

namespace sluice {

// The addresses of all buffers; the elements of row-local ones, one for each lane that is computed
// at once.
using BufferAddresses = std::vector<llvm::Value*>;

struct Element {
  loop::BufferId buffer = -1;
  ExpressionId offset = -1;
};

llvm::Align alignment_of(DType dtype);  // of elements in memory

class MemoryElements {
 public:
  MemoryElements(const PlannedNest& nest, PieceValues& values, const BufferAddresses& buffers,
                 MathPrecision precision)
      : nest_(nest),
        values_(values),
        buffers_(buffers),
        math_(nest.builder.ir(), nest.builder.profile(), precision) {}

  llvm::Type* type(DType dtype) const;
  llvm::FixedVectorType* vector_type(DType dtype) const;  // of the piece's lanes
  llvm::Value* from_memory(DType dtype, llvm::Value* value);
  llvm::Value* to_memory(DType dtype, llvm::Value* value);

  llvm::Value* base(loop::BufferId id) const { return buffers_[static_cast<size_t>(id)]; }
  // The address of the element of a copy's first lane. Row-local buffers of nests with lanes along
  // an outer axis have an element for every lane.
  llvm::Value* address(const Element& element, int copy);
  llvm::Value* addresses(const Element& element, int copy);  // one pointer for each lane

  bool differs(const Element& element) const;  // between lanes
  bool is_row(const Element& element) const;   // the lanes' elements are neighbours
  // Memory of a row-local buffer that has room for all lanes of each vector. Stores through a mask
  // would not be forwarded to the loads of the next sweep.
  bool has_whole_vectors(const Element& element) const;
  // A row-local buffer has its elements once for each lane of an outer axis, side by side.
  bool has_rows_by_lane(loop::BufferId id) const {
    return nest_.buffer(id).is_local && nest_.plan.vector == NestPlan::Vector::kOuter;
  }

 private:
  llvm::Value* row_by_lane_indices(llvm::Value* rows, int copy);

  const PlannedNest& nest_;
  PieceValues& values_;
  const BufferAddresses& buffers_;
  MathEmitter math_;
};

}  // namespace sluice
