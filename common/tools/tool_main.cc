#include "common/tools/tool_main.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "common/base/failure_header.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/options.h"
#include "common/base/program.h"
#include "common/base/release.h"

namespace sluice {
namespace {

// That the reader of our output has gone is no error to print.
int fail(const Tool& tool, const Error& error, bool json) {
  if (error.told_by == "the reader") return static_cast<int>(exit_class(error.code));
  if (json) {
    fmt::print(stderr, "{}\n", error_json(error));
  } else {
    log_line(tool.name, "error", error_text(error));
  }
  return static_cast<int>(exit_class(error.code));
}

// Values of options that all programs share.
Result<void> check_values(const CommandLine& line) {
  for (const OptionRow& row : option_table()) {
    for (const std::string& value : line.list(fmt::format("--{}", row.name))) {
      if (!value.empty()) SLUICE_TRY(check_option_value(row, value));  // empty: a flag of this tool
    }
  }
  return {};
}

void fail_into_pipe(const Tool& tool, const Error& error) {
  struct stat status{};
  if (::fstat(STDOUT_FILENO, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  const auto bytes = print_failure_header(error.code, error.told_by.empty() ? tool.name : std::string_view(error.told_by));
  static_cast<void>(write_descriptor(STDOUT_FILENO, bytes).ok());
}

}  // namespace

int tool_main(int argc, char** argv, const Tool& tool) {
  begin_program();
  const auto line = program_within_memory([&] { return CommandLine::parse(tool.usage, argc, argv); });
  if (!line) return fail(tool, line.error(), false);
  if (line->wish() == CommandLine::Wish::kHelp) return print_text(tool.name, tool.usage);
  if (line->wish() == CommandLine::Wish::kVersion) return print_text(tool.name, fmt::format("{} {}\n", tool.name, kRelease));
  const std::string format = line->text("--error-format");
  const bool json = format == "json";
  if (!format.empty() && format != "text" && !json) {
    return fail(tool, make_error(ErrorCode::kBadOption, "--error-format is '{}', it must be text or json", format), false);
  }
  const auto done = within_memory([&]() -> Result<ExitClass> {
    SLUICE_TRY(check_values(*line));
    SLUICE_TRY(check_output_is_no_input(output_path(*line), input_path(*line)));
    return tool.run(*line);
  });
  if (done) return static_cast<int>(*done);
  if (tool.writes_graph && output_path(*line) == "-") fail_into_pipe(tool, done.error());
  return fail(tool, done.error(), json);
}

std::string input_path(const CommandLine& line) { return line.has("<in>") ? line.text("<in>") : "-"; }
std::string output_path(const CommandLine& line) { return line.has("-o") ? line.text("-o") : "-"; }

Result<void> check_input(const CommandLine& line) {
  if (input_path(line) != "-" || isatty(STDIN_FILENO) == 0) return {};
  return make_error(ErrorCode::kUsage, "standard input is a terminal").with_hint("see --help");
}

Result<void> write_tool_text(const CommandLine& line, std::string_view text) {
  if (output_path(line) == "-") return write_descriptor(STDOUT_FILENO, std::as_bytes(std::span(text)));
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
