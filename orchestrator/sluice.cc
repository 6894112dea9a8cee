#include "orchestrator/sluice.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/program.h"
#include "common/base/release.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

std::string help_text() {
  std::string text =
      "Compiles ONNX models and runs them.\n\n"
      "Usage:\n"
      "  sluice VERB [arguments]      runs the program of VERB; `sluice VERB --help` explains it\n"
      "  sluice (--help | --version)\n\n"
      "Verbs:\n";
  for (const ProgramRow& row : program_table())
    text += fmt::format("  {:<18} {}\n", row.verb, row.sentence);
  text +=
      "\nAny other program named sluice-VERB beside this one or in PATH is found the same way.\n";
  return text;
}

Error unknown_verb(const std::string& verb) {
  Error error = make_error(ErrorCode::kUsage, "'{}' is no verb of sluice", verb);
  const std::string_view nearest = nearest_verb(verb);
  error.hint = nearest.empty() ? "sluice --help lists them"
                               : fmt::format("did you mean 'sluice {}'?", nearest);
  return error;
}

}  // namespace

Result<int> run_sluice(int argc, char** argv) {
  if (argc < 2) return std::fputs(help_text().c_str(), stderr), static_cast<int>(ExitClass::kUsage);
  const std::string verb = argv[1];
  if (verb == "--help" || verb == "-h" || verb == "help") return print_text("sluice", help_text());
  if (verb == "--version") return print_text("sluice", fmt::format("sluice {}\n", kRelease));
  const ProgramRow* row = find_verb(verb);
  Result<std::string> path =
      find_program(row != nullptr ? std::string(row->program) : "sluice-" + verb);
  if (!path) return row != nullptr ? std::move(path).error() : unknown_verb(verb);
  std::vector<char*> arguments = {path->data()};
  std::string first(row != nullptr ? row->arguments : "");
  if (!first.empty()) arguments.push_back(first.data());
  arguments.insert(arguments.end(), argv + 2, argv + argc + 1);  // including the null at the end
  execv(path->c_str(), arguments.data());
  return make_error(ErrorCode::kProgramMissing, "'{}' cannot be started: {}", *path,
                    std::strerror(errno));
}

}  // namespace sluice
