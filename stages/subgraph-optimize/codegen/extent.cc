#include "stages/subgraph-optimize/codegen/extent.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace sluice {

Extent::Extent(int64_t number, std::vector<uint16_t> of, int64_t planned)
    : factor(number), symbols(std::move(of)), nominal(planned) {
  std::sort(symbols.begin(), symbols.end());
  if (factor == 0) symbols.clear();
  if (is_fixed()) nominal = factor;
}

Extent& Extent::operator*=(const Extent& other) {
  std::vector<uint16_t> all = symbols;
  all.insert(all.end(), other.symbols.begin(), other.symbols.end());
  return *this = Extent(factor * other.factor, std::move(all), nominal * other.nominal);
}

std::string canonical_text(const Extent& extent) {
  std::string text = fmt::format("{}", extent.factor);
  for (const uint16_t symbol : extent.symbols) text += fmt::format("*s{}", symbol);
  if (!extent.is_fixed()) text += fmt::format("~{}", extent.nominal);
  return text;
}

}  // namespace sluice
