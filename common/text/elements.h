// Elements of constants and numbers of attributes as text: the shortest digits that read back the
// same; odd floats as bits, "0x7fc00001". Internal to common/text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/dtype.h"

namespace sluice::text {

// "0.5", "1.0", "inf", "nan", "0x7fc00001": always recognizable as a float.
std::string print_float(float value);
std::optional<float> parse_float(std::string_view text);
bool looks_like_float(std::string_view number);

// Element `index` of densely packed bytes that are long enough. Not for strings.
std::string print_element(DType dtype, std::span<const std::byte> bytes, size_t index);

// Packs elements one after another. Not for strings.
class ElementWriter {
 public:
  explicit ElementWriter(DType dtype) : dtype_(dtype) {}
  bool add(std::string_view text);  // false when it is no element of the type; complex numbers are
                                    // two floats, added one by one
  std::vector<std::byte> take() { return std::move(bytes_); }
  size_t count() const { return count_; }  // floats, for complex numbers

 private:
  void put(uint64_t bits, int width);

  DType dtype_;
  std::vector<std::byte> bytes_;
  size_t count_ = 0;
};

}  // namespace sluice::text
