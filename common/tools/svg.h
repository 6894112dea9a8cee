// What pictures share.
#pragma once

#include <string>

namespace sluice {

// Of a picture without its margins, and of each margin.
inline constexpr double kPictureWidth = 1200, kPictureMargin = 40;

// Returns the text as XML shows it in an element; what is no letter there becomes U+FFFD.
std::string xml_escaped(const std::string& text);

// Returns a whole file. content: what is in it; style: rules of CSS.
std::string svg_file(double width, double height, const std::string& style,
                     const std::string& content);

}  // namespace sluice
