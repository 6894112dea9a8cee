#include "common/loop/lower/row.h"

#include <numeric>

namespace sluice::loop {

Row::Row(Lowering& lowering, const Value& value, Index first, std::vector<size_t> axes,
         Index extents, int sweeps)
    : lowering_(lowering),
      value_(value),
      first_(std::move(first)),
      axes_(std::move(axes)),
      extents_(std::move(extents)),
      sweeps_(sweeps) {}

Row Row::begin_nest(Lowering& lowering, const Value& value, std::vector<size_t> axes, int sweeps) {
  Index outer = lowering.extents(value), inner;
  for (const size_t axis : axes) {
    inner.push_back(outer[axis]);
    outer[axis] = lowering.number(1);
  }
  Index first = lowering.begin_nest(outer);
  return {lowering, value, std::move(first), std::move(axes), std::move(inner), sweeps};
}

void Row::begin_other_sweep() {
  inner_ = lowering_.begin_sweep(extents_);
  index_ = first_;
  for (size_t i = 0; i < axes_.size(); ++i)
    index_[axes_[i]] = lowering_.table().add(index_[axes_[i]], inner_[i]);
}

Result<InstructionId> Row::begin_sweep() {
  begin_other_sweep();
  --sweeps_;
  if (local_) {
    lowering_.remember(value_, index_, lowering_.load_local(*local_, inner_));
  } else if (is_output_) {
    lowering_.remember(value_, index_,
                       lowering_.reread(*value_.producer(), value_.result(), index_));
  }
  SLUICE_ASSIGN(const InstructionId element, lowering_.element(value_, index_));
  if (!was_read_) keep(element);
  was_read_ = true;
  return element;
}

void Row::keep(InstructionId element) {
  if (lowering_.is_read(element)) return;
  is_output_ = lowering_.store_if_output(value_, index_, element);
  if (is_output_ || sweeps_ < 1) return;
  local_ = lowering_.local_buffer(lowering_.dtype_of(element), extents_);
  if (local_) lowering_.store_local(*local_, inner_, element);
}

std::vector<size_t> axes_from(size_t first, size_t rank) {
  std::vector<size_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

}  // namespace sluice::loop
