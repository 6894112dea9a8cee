#include "common/symbolic/nominal.h"

#include <algorithm>

namespace sluice {

int64_t nominal_size(const Symbol& symbol) {
  const int64_t guess = symbol.axis == 0 ? kNominalBatch : kNominalSize;
  const int64_t divisor = std::max<int64_t>(symbol.divisor, 1);
  const int64_t multiple = (guess + divisor - 1) / divisor * divisor;
  return std::clamp(multiple, std::min(symbol.low, symbol.high), symbol.high);
}

int64_t nominal_value(const ExpressionTable& expressions, ExpressionId id) {
  const auto value = expressions.evaluate(
      id, [&](SymbolId symbol) { return nominal_size(expressions.symbol(symbol)); });
  return value ? std::max<int64_t>(*value, 1) : 1;
}

}  // namespace sluice
