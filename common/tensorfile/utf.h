// NumPy's texts are arrays of UTF-32 code points; all other texts are UTF-8.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sluice {

// Converts little-endian code points, without the zeros at the end; an invalid code point becomes
// U+FFFD.
std::string utf8_of_utf32(std::span<const std::byte> points);

}  // namespace sluice
