// The common main function of the orchestrator's programs: arguments, one error, exit code.
#pragma once

#include <string>
#include <string_view>

#include "common/base/command_line.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "common/base/release.h"
#include "orchestrator/process/process.h"
#include "orchestrator/report.h"

namespace sluice {

struct Program {
  std::string_view name;   // "sluice-compile"
  std::string (*usage)();  // Docopt text that has --help and --version
  // Returns the exit code when there is no error.
  Result<int> (*run)(const CommandLine& line);
  // Ctrl-C and SIGTERM are noted for run(), and end the program by that signal after it.
  bool notes_interrupts = true;
  // Adds options that are in a file to those of the command line; null: there is no such file.
  Result<void> (*take_options)(CommandLine& line) = nullptr;
};

inline Result<int> run_program(int argc, char** argv, const Program& program, bool& error_json) {
  const std::string usage = program.usage();
  SLUICE_ASSIGN(CommandLine line, CommandLine::parse(usage, argc, argv));
  if (line.request() == CommandLine::Request::kHelp) return print_text(program.name, usage);
  if (line.request() == CommandLine::Request::kVersion)
    return print_text(program.name, fmt::format("{} {}\n", program.name, kRelease));
  error_json = line.text("--error-format") == "json";
  if (program.take_options != nullptr) SLUICE_TRY(program.take_options(line));
  error_json = line.text("--error-format") == "json";
  return program.run(line);
}

inline int program_main(int argc, char** argv, const Program& program) {
  begin_program();
  if (program.notes_interrupts) catch_interrupts();
  bool error_json = false;
  const Result<int> result =
      program_within_memory([&] { return run_program(argc, argv, program, error_json); });
  if (program.notes_interrupts) finish_interrupt();
  return exit_code_of(program.name, result, error_json);
}

}  // namespace sluice
