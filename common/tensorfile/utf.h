// NumPy's texts are arrays of UTF-32 code points; everybody else's are UTF-8.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sluice {

// Little-endian code points, without the zeros at the end; what is no code point becomes U+FFFD.
std::string utf8_of_utf32(std::span<const std::byte> points);

}  // namespace sluice
