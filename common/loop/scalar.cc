#include "common/loop/scalar.h"

#include <algorithm>
#include <iterator>

namespace sluice::loop {
namespace {

constexpr ScalarRow kRows[] = {
#define SLUICE_SCALAR(name, text, operands, result, cost) \
  {ScalarOp::k##name, text, operands, ScalarResult::result, CostClass::cost},
#include "common/loop/scalar.def"
#undef SLUICE_SCALAR
};

}  // namespace

const ScalarRow& scalar_row(ScalarOp op) { return kRows[static_cast<size_t>(op)]; }

std::optional<ScalarOp> scalar_from_text(std::string_view text) {
  const auto* row = std::ranges::find(kRows, text, &ScalarRow::text);
  if (row == std::end(kRows)) return std::nullopt;
  return row->op;
}

}  // namespace sluice::loop
