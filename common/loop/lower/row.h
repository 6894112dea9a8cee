// A row of a value: its elements along some axes at one outer point, which sweeps of a nest read.
#pragma once

#include <optional>
#include <vector>

#include "common/loop/lowering.h"

namespace sluice::loop {

class Row {
 public:
  // The row begins at the element `first` and has extents[i] elements along axes[i]. It is read by
  // this number of sweeps.
  Row(Lowering& lowering, const Value& value, Index first, std::vector<size_t> axes, Index extents,
      int sweeps);
  // Starts a nest over the other axes, whose rows are whole.
  static Row begin_nest(Lowering& lowering, const Value& value, std::vector<size_t> axes,
                        int sweeps);

  // Starts a sweep along the row and returns its element. The first sweep computes it; when that is
  // more than a load, later ones read it from a row-local buffer, or from the output that it is,
  // and compute it again only where the row does not fit.
  Result<InstructionId> begin_sweep();
  // Starts a sweep along the row that does not read it.
  void begin_other_sweep();
  // The index of the element of the latest sweep.
  const Index& index() const { return index_; }
  // The index of that element within the row, one expression per axis.
  const Index& inner() const { return inner_; }
  const Index& first() const { return first_; }
  const Index& extents() const { return extents_; }
  ExpressionId count() const { return lowering_.product(extents_); }

 private:
  void keep(InstructionId element);

  Lowering& lowering_;
  const Value& value_;
  Index first_;
  std::vector<size_t> axes_;
  Index extents_;
  int sweeps_;  // to come
  bool was_read_ = false;
  Index index_, inner_;
  std::optional<BufferId> local_;
  bool is_output_ = false;
};

// The axes from `first` on.
std::vector<size_t> axes_from(size_t first, size_t rank);

}  // namespace sluice::loop
