#include <unistd.h>

#include <cstdio>

#include "common/base/command_line.h"
#include "common/base/options.h"
#include "common/base/release.h"
#include "orchestrator/compile/compile.h"
#include "orchestrator/compile/usage.h"
#include "orchestrator/process/process.h"
#include "orchestrator/report.h"

namespace {

using sluice::CommandLine;
using sluice::ErrorCode;

sluice::CompileRequest request_from(const CommandLine& line) {
  sluice::CompileRequest request{line.text("<in>"),    line.text("-o"),     {}, {}, line.text("--dump-dir"),
                                 line.text("--stats"), line.flag("--quiet")};
  for (const sluice::OptionRow& row : sluice::option_table()) {
    const std::string name = "--" + std::string(row.name);
    if (row.name == "dump-dir" || row.name == "stats") continue;
    auto& arguments = row.kind == sluice::OptionKind::kMeaning ? request.meaning : request.manner;
    for (const std::string& value : line.list(name)) arguments.push_back(name + "=" + value);
  }
  return request;
}

sluice::Result<int> run(int argc, char** argv) {
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(sluice::kCompileUsage, argc, argv));
  if (line.wish() == CommandLine::Wish::kHelp) return std::fputs(sluice::kCompileUsage, stdout), 0;
  if (line.wish() == CommandLine::Wish::kVersion) return std::printf("sluice-compile %s\n", sluice::kRelease), 0;
  if (line.text("-o") == "-" && isatty(STDOUT_FILENO)) {
    return make_error(ErrorCode::kUsage, "a compiled model is not written to a terminal").with_hint("name a file with -o FILE");
  }
  return sluice::compile(request_from(line));
}

}  // namespace

int main(int argc, char** argv) {
  sluice::catch_interrupts();
  const sluice::Result<int> result = run(argc, argv);
  sluice::finish_interrupt();
  return sluice::exit_code_of("sluice-compile", result);
}
