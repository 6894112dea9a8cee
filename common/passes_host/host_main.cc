#include <charconv>
#include <cstdio>

#include "common/base/command_line.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/base/release.h"
#include "common/passes_host/host.h"

namespace {

using namespace sluice;

constexpr char kProgram[] = "sluice-pass-host";
constexpr char kUsage[] = R"(Runs passes of users for a stage, which starts it (docs/own-passes.md).

Usage:
  sluice-pass-host --files <file>
  sluice-pass-host --flags
  sluice-pass-host [options] [--readable=PATH]... <input> <output> <file>...
  sluice-pass-host (--help | --version)

Answers the stage over the descriptors <input> and <output>.

Options:
  --files          Print the file and the Python files below its folder that it imports.
  --flags          Print what a C++ compiler needs for a plugin: g++ -std=c++20 -shared -fPIC
                   own.cc $(sluice-pass-host --flags) -o own.so
  --memory=BYTES   Most bytes of memory; 0: any [default: 0].
  --readable=PATH  What passes may read besides their own files.
  --confine        Run programs in a sandbox, too.
)";

template <typename Number>
Number number_in(const std::string& text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Result<int> run(const CommandLine& line) {
  if (line.flag("--files")) {
    SLUICE_ASSIGN(const std::string files, listed_files(line.list("<file>")[0]));
    return print_text(kProgram, files);
  }
  if (line.flag("--flags")) {
    SLUICE_ASSIGN(const std::string flags, plugin_flags());
    return print_text(kProgram, flags);
  }
  SLUICE_TRY(run_host({.input = number_in<int>(line.text("<input>")),
                       .output = number_in<int>(line.text("<output>")),
                       .files = line.list("<file>"),
                       .limits = {.memory_bytes = number_in<uint64_t>(line.text("--memory")),
                                  .readable = line.list("--readable")},
                       .confines_programs = line.flag("--confine")}));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  begin_program();
  const auto line = CommandLine::parse(kUsage, argc, argv);
  if (line && line->request() == CommandLine::Request::kHelp) return print_text(kProgram, kUsage);
  if (line && line->request() == CommandLine::Request::kVersion)
    return print_text(kProgram, fmt::format("{} {}\n", kProgram, kRelease));
  const auto ran = line ? run(*line) : Result<int>(line.error());
  if (ran) return *ran;
  log_line(kProgram, "error", error_text(ran.error()));
  return static_cast<int>(exit_class(ran.error().code));
}
