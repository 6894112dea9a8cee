// Which axes a reduction reduces, and the elements that it reduces at each point of its result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/loop/lower/row.h"

namespace sluice::loop {

// The axes of the input of a Reduce*, ArgMax or ArgMin that are reduced, where they are known.
std::optional<std::vector<bool>> reduced_axes(const Node& node);

// Returns why a Reduce node's axes cannot be lowered.
std::string axes_reason(const Node& node);

// Returns true when two reductions of a body are computed in one sweep: both are sums, products or
// extremes of the same elements, and the body itself reads neither result.
bool shares_sweep(const Node& a, const Node& b);

// The elements of a reduction's input that are reduced to one, which sweeps of a nest over the
// result read.
//
// Axes that are an operand of the kernel are compared with the shapes: a nest of its own sets the
// fault of the launch where the result would have another shape. Where shapes leave only one choice
// the loops are those of known axes. Elsewhere axes are chosen while the kernel runs: as many
// elements as the input has for each of the result are counted by one number, of which the place
// along each axis is a digit.
class ReducedRow {
 public:
  // Starts the nest. The row is read by this number of sweeps.
  static Result<ReducedRow> begin_nest(Lowering& l, const Node& node, int sweeps);

  // Starts a sweep along the row and returns its element.
  Result<InstructionId> begin_sweep();
  // The index of the element within the row, where that has only one axis.
  ExpressionId position() const { return row_->inner()[0]; }
  ExpressionId count() const { return count_; }
  const Index& kept() const { return kept_; }  // the index of the result

 private:
  struct Axis {             // i64
    InstructionId kept;     // the place along it, of an axis that is not reduced; else 0
    InstructionId reduced;  // bool
    InstructionId after;    // the number of elements of reduced axes after it
  };

  explicit ReducedRow(Lowering& l, const Node& node) : l_(l), x_(*node.input(0)) {}
  void begin_known(const Node& node, const std::vector<bool>& reduced, int sweeps);
  Result<void> begin_open(const Node& node);

  Lowering& l_;
  const Value& x_;
  Index kept_;
  ExpressionId count_ = -1;
  std::optional<Row> row_;  // of known axes
  std::vector<Axis> axes_;  // of others, one for each axis of the input
};

}  // namespace sluice::loop
