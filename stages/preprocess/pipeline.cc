// The passes of sluice-preprocess in their order.
#include <array>

#include "stages/preprocess/onnx/import.h"
#include "stages/preprocess/passes/passes.h"
#include "stages/preprocess/preprocess.h"

namespace sluice {
namespace {

constexpr std::array kPasses = {
    // First, so that nothing is inferred, and no error reported, for nodes that nobody wants.
    Pass{"select-outputs", "keeps the outputs that --out-nodes names", select_outputs, PassLevel::kO0},
    Pass{"infer-types", "gives every value its type, folding constants on the way", infer_types, PassLevel::kO0},
    // Below here types are known.
    Pass{"normalize-dropout", "makes Dropout outside training an Identity", normalize_dropout, PassLevel::kO0},
    Pass{"normalize-padding", "writes auto_pad as numbers", normalize_padding, PassLevel::kO0},
    Pass{"resolve-shapes", "writes the target shapes of Reshape and Expand as numbers", resolve_shapes, PassLevel::kO0},
};

}  // namespace

std::span<const Pass> preprocess_passes() { return kPasses; }

Result<Module> read_model(const StageArgs& args) {
  SLUICE_ASSIGN(ModelFile file, open_model_file(args.input));
  return import_model(std::move(file), args.options);
}

Result<Module> preprocess(Module module, const StageArgs& args) {
  SLUICE_ASSIGN(std::vector<PassReport> report, run_passes(module, kPasses, args.options));
  if (args.report != nullptr) args.report->insert(args.report->end(), report.begin(), report.end());
  return module;
}

}  // namespace sluice
