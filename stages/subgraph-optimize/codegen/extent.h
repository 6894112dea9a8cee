// A size or stride of a kernel: a number, or a number times sizes that are known only when the
// kernel runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct Extent {
  int64_t factor = 1;
  std::vector<uint16_t> symbols;  // sorted indices into KernelArgs.symbols; the value is factor
                                  // times the product of these
  int64_t nominal = 1;            // the value planned for; of a fixed extent the value

  Extent() = default;
  Extent(int64_t value) : factor(value), nominal(value) {}
  // With a factor of 0 it is fixed.
  Extent(int64_t factor, std::vector<uint16_t> symbols, int64_t nominal);
  static Extent of_symbol(uint16_t symbol, int64_t nominal) { return {1, {symbol}, nominal}; }

  bool is_fixed() const { return symbols.empty(); }
  bool is_fixed_at(int64_t value) const { return is_fixed() && factor == value; }
  Extent& operator*=(const Extent& other);
  friend Extent operator*(Extent a, const Extent& b) { return a *= b; }
  bool operator==(const Extent&) const = default;
};

// "12" for a fixed extent, else factor, symbols and nominal value: "4*s0*s2~96".
std::string canonical_text(const Extent& extent);

}  // namespace sluice
