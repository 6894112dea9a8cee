// Elements of constants and numbers of attributes as text: the shortest digits that parse to the
// same value; floats that have none as bits, "0x7fc00001". Internal to common/text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/dtype.h"

namespace sluice::text {

// Returns "0.5", "1.0", "inf", "nan", "0x7fc00001": always recognizable as a float.
std::string print_float(float value);
std::optional<float> parse_float(std::string_view text);
bool looks_like_float(std::string_view number);

// Returns element `index` of densely packed bytes that are long enough. Not for strings.
std::string print_element(DType dtype, std::span<const std::byte> bytes, size_t index);

// Packs elements consecutively. Not for strings.
class ElementWriter {
 public:
  explicit ElementWriter(DType dtype) : dtype_(dtype) {}
  // Returns false when the text is not an element of the type. A complex number is two floats,
  // added one by one.
  bool add(std::string_view text);
  std::vector<std::byte> take() { return std::move(bytes_); }
  size_t count() const { return count_; }  // for complex numbers the number of floats

 private:
  void put(uint64_t bits, int width);

  DType dtype_;
  std::vector<std::byte> bytes_;
  size_t count_ = 0;
};

}  // namespace sluice::text
