#include "common/base/shape_mismatch.h"

#include "fmt/format.h"

namespace sluice {

std::string shape_mismatch(std::span<const int64_t> wanted, std::span<const int64_t> given) {
  if (wanted.size() != given.size()) {
    return fmt::format("it has {} {}, the model takes {}", given.size(),
                       given.size() == 1 ? "axis" : "axes", wanted.size());
  }
  std::string text;
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    if (wanted[axis] < 0 || wanted[axis] == given[axis]) continue;
    text += fmt::format("{}axis {} is {}, the model takes {}", text.empty() ? "" : "; ", axis,
                        given[axis], wanted[axis]);
  }
  return text;
}

}  // namespace sluice
