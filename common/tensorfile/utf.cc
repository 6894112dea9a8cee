#include "common/tensorfile/utf.h"

#include <cstdint>
#include <cstring>

namespace sluice {
namespace {

void append_utf8(std::string& text, uint32_t point) {
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) point = 0xfffd;
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xc0 | point >> 6);
    text += static_cast<char>(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    text += static_cast<char>(0xe0 | point >> 12);
    text += static_cast<char>(0x80 | (point >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (point & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | point >> 18);
    text += static_cast<char>(0x80 | (point >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (point >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (point & 0x3f));
  }
}

}  // namespace

std::string utf8_of_utf32(std::span<const std::byte> points) {
  size_t count = points.size() / 4;
  const auto point_at = [&](size_t i) {
    uint32_t point = 0;
    std::memcpy(&point, points.data() + i * 4, 4);
    return point;
  };
  while (count > 0 && point_at(count - 1) == 0) --count;
  std::string text;
  for (size_t i = 0; i < count; ++i) append_utf8(text, point_at(i));
  return text;
}

}  // namespace sluice
