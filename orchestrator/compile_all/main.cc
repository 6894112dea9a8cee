#include "orchestrator/compile_all/arguments.h"
#include "orchestrator/compile_all/compile_all.h"
#include "orchestrator/compile_all/usage.h"
#include "orchestrator/program_main.h"

namespace {

using namespace sluice;

Result<int> run(const CommandLine& line) {
  SLUICE_ASSIGN(const CompileAllRequest request, compile_all_request(line));
  return compile_all(request);
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(argc, argv,
                      {"sluice-compile-all", [] { return std::string(kCompileAllUsage); }, run});
}
