#include <charconv>

#include "orchestrator/conformance/conformance.h"
#include "orchestrator/conformance/usage.h"
#include "orchestrator/program_main.h"

namespace {

using namespace sluice;

Result<int> number_from(const CommandLine& line, const char* name, int low, int high) {
  const std::string text = line.text(name);
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < low || number > high) {
    return make_error(ErrorCode::kBadOption, "{} is '{}', expected a whole number from {} to {}",
                      name, text, low, high);
  }
  return number;
}

Result<int> run(const CommandLine& line) {
  ConformanceRequest request{.folder = line.text("<folder>"),
                             .report = line.text("--report"),
                             .profile = line.text("--profile"),
                             .opt_level = line.text("--opt-level"),
                             .quiet = line.flag("--quiet")};
  SLUICE_ASSIGN(request.jobs, number_from(line, "-j", 0, 1000));
  SLUICE_ASSIGN(request.timeout, number_from(line, "--timeout", 1, 86400));
  return run_conformance(request);
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(argc, argv,
                      {"sluice-conformance", [] { return std::string(kConformanceUsage); }, run});
}
