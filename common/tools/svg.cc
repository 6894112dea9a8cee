#include "common/tools/svg.h"

#include <fmt/format.h>

namespace sluice {

std::string xml_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text)
    escaped += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return escaped;
}

std::string svg_file(double width, double height, const std::string& style,
                     const std::string& content) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<style>{}</style>\n{}</svg>\n",
      width, height, style, content);
}

}  // namespace sluice
