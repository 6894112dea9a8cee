// A size or stride of a kernel: a number, or a number times sizes that are known only when the
// kernel runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct Extent {
  int64_t factor = 1;
  // Sorted indices into KernelArgs.symbols; the value is factor times the product of these.
  std::vector<uint16_t> symbols;
  int64_t nominal = 1;  // the value planned for; for a fixed extent the value itself

  Extent() = default;
  Extent(int64_t value) : factor(value), nominal(value) {}
  // Makes a fixed extent when factor is 0.
  Extent(int64_t factor, std::vector<uint16_t> symbols, int64_t nominal);
  static Extent of_symbol(uint16_t symbol, int64_t nominal) { return {1, {symbol}, nominal}; }

  bool is_fixed() const { return symbols.empty(); }
  bool is_fixed_at(int64_t value) const { return is_fixed() && factor == value; }
  Extent& operator*=(const Extent& other);
  friend Extent operator*(Extent a, const Extent& b) { return a *= b; }
  bool operator==(const Extent&) const = default;
};

// Returns "12" for a fixed extent, otherwise factor, symbols and nominal value: "4*s0*s2~96".
std::string canonical_text(const Extent& extent);

}  // namespace sluice
