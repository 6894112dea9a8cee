#include "common/pass/reduction_axes.h"

#include <algorithm>
#include <numeric>

#include "common/ops/attributes.h"
#include "common/pass/number.h"

namespace sluice {

std::optional<std::vector<int64_t>> reduced_axes(const Node& reduction) {
  if (!op_name(reduction.op()).starts_with("Reduce") || reduction.input(0) == nullptr)
    return std::nullopt;
  const Type& type = reduction.input(0)->type();
  if (!type.is_tensor() || !type.ranked ||
      reduction.get(attributes::Reduce::noop_with_empty_axes) != 0)
    return std::nullopt;
  std::vector<int64_t> axes(type.dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (reduction.input(1) == nullptr) return axes;
  const auto given = constant_ints(reduction.input(1));
  if (!given) return std::nullopt;
  if (given->empty()) return axes;
  axes = *given;
  for (int64_t& axis : axes) axis += axis < 0 ? type.rank() : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace sluice
