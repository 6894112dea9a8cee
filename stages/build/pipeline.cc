#include "stages/build/build.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

constexpr Pass kPasses[] = {
    {"link-subgraphs", "puts the subgraphs in the place of their Calls", link_subgraphs,
     PassLevel::kO0},
};

}  // namespace

std::span<const Pass> build_passes() { return kPasses; }

Result<Module> link(Module module, const Options& options, std::vector<PassReport>& report) {
  SLUICE_ASSIGN(const std::vector<PassReport> passes, run_passes(module, kPasses, options));
  report.insert(report.end(), passes.begin(), passes.end());
  return module;
}

}  // namespace sluice
