#include "stages/subgraph-optimize/kernel_list.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr size_t kKeyDigits = 2 * sizeof(Digest{}.bytes);

// Takes a key and the blank after it from the start of the line.
std::optional<Digest> take_key(std::string_view& line) {
  if (line.size() <= kKeyDigits || line[kKeyDigits] != ' ') return std::nullopt;
  const std::optional<Digest> key = digest_from_hex(line.substr(0, kKeyDigits));
  if (key) line.remove_prefix(kKeyDigits + 1);
  return key;
}

Result<KernelLine> parse_line(std::string_view text, size_t number, const std::string& name) {
  KernelLine line{.number = number, .keys = {}, .graph = {}};
  while (const auto key = take_key(text)) line.keys.push_back(*key);
  line.graph = text;
  if (!text.empty() && !digest_from_hex(text) && text.find('\0') == std::string_view::npos)
    return line;
  return make_error(ErrorCode::kBadText, "{}:{}: there is no graph file, expected 'KEY... FILE'",
                    name, number)
      .with_hint("a line has the keys of kernels, of 64 hex digits, or none, and then a path");
}

}  // namespace

Result<std::vector<KernelLine>> parse_kernel_list(std::string_view text, const std::string& name) {
  std::vector<KernelLine> lines;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    SLUICE_ASSIGN(KernelLine line,
                  parse_line(text.substr(begin, end - begin), lines.size() + 1, name));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string kernel_line_text(const KernelLine& line) {
  std::string text;
  for (const Digest& key : line.keys) text += digest_hex(key) + " ";
  return text + line.graph + "\n";
}

}  // namespace sluice
