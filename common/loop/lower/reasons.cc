#include "common/loop/lower/reasons.h"

#include "common/base/dtype.h"

namespace sluice::loop {

std::string needs_floats(const Node& node) {
  const DType dtype = node.output().type().dtype;
  return dtype_is_float(dtype) ? std::string()
                               : fmt::format("dtype {}, only floats", dtype_name(dtype));
}

std::string needs_numbers(const Node& node) {
  return node.output().type().dtype == DType::kBool ? "dtype bool, only numbers" : std::string();
}

std::string needs_known_broadcast(const Node& node) {
  const std::vector<Dim>& y = node.output().type().dims;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) == nullptr) continue;
    const std::vector<Dim>& x = node.input(i)->type().dims;
    if (x.size() > y.size()) return "an input has more dims than the result";
    for (size_t axis = 0; axis < x.size(); ++axis) {
      const Dim& own = x[axis];
      const bool is_one = own.is_fixed() && own.value == 1;
      if (!is_one && own != y[y.size() - x.size() + axis])
        return fmt::format("whether input {} is broadcast along dim {} is known only while running",
                           i, axis);
    }
  }
  return {};
}

std::string needs_broadcast_numbers(const Node& node) {
  std::string reason = needs_numbers(node);
  return reason.empty() ? needs_known_broadcast(node) : reason;
}

}  // namespace sluice::loop
