#include <algorithm>
#include <array>

#include "common/eval/kernels.h"

namespace sluice::eval {
namespace {

constexpr KernelRow kRows[] = {
#define SLUICE_KERNEL(op, function, promotion) {Op::k##op, eval_##function, promotion},
#include "common/eval/kernels.def"
#undef SLUICE_KERNEL
};
static_assert(std::ranges::is_sorted(kRows, std::ranges::less(), &KernelRow::op));

}  // namespace

const KernelRow* find_kernel(Op op) {
  const auto* found = std::ranges::lower_bound(kRows, op, std::ranges::less(), &KernelRow::op);
  return found != std::end(kRows) && found->op == op ? found : nullptr;
}

}  // namespace sluice::eval
