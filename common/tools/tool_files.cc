#include "common/tools/tool_files.h"

#include <unistd.h>

#include "common/base/files.h"

namespace sluice {

std::string input_path(const CommandLine& line) {
  return line.has("<in>") ? line.text("<in>") : "-";
}
std::string output_path(const CommandLine& line) { return line.has("-o") ? line.text("-o") : "-"; }

Result<void> check_input(const CommandLine& line) {
  if (input_path(line) != "-" || isatty(STDIN_FILENO) == 0) return {};
  return make_error(ErrorCode::kUsage, "standard input is a terminal").with_hint("see --help");
}

Result<void> write_tool_text(const CommandLine& line, std::string_view text) {
  if (output_path(line) == "-")
    return write_descriptor(STDOUT_FILENO, std::as_bytes(std::span(text)));
  return write_text(output_path(line), text);
}

Result<void> check_binary_output(const CommandLine& line) {
  if (output_path(line) != "-" || isatty(STDOUT_FILENO) == 0) return {};
  return make_error(ErrorCode::kUsage, "standard output is a terminal and the result is binary")
      .with_hint("give -o FILE, or pipe into sluice-show");
}

Result<InputBytes> InputBytes::open(const std::string& path) {
  if (path == "-") {
    SLUICE_ASSIGN(std::vector<std::byte> content, read_file(path));
    auto owner = std::make_shared<const std::vector<std::byte>>(std::move(content));
    return InputBytes{*owner, owner, "standard input"};
  }
  SLUICE_ASSIGN(MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  return InputBytes{bytes, std::make_shared<const MappedFile>(std::move(file)), path};
}

}  // namespace sluice
