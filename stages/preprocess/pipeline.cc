// The passes of sluice-preprocess in their order.
#include <array>

#include "common/base/file_kind.h"
#include "common/base/program.h"
#include "common/graphfile/graphfile.h"
#include "common/passes_host/pass_rows.h"
#include "common/rules/rule_rows.h"
#include "common/verify/verify.h"
#include "stages/preprocess/lenient_forms.h"
#include "stages/preprocess/onnx/import.h"
#include "stages/preprocess/passes/passes.h"
#include "stages/preprocess/preprocess.h"
#include "stages/preprocess/sizes/propose_sizes.h"

namespace sluice {
namespace {

constexpr std::array kPasses = {
    // Must run first, so that nothing is inferred, and no error reported, for nodes that no output
    // needs.
    Pass{"select-outputs", "keeps the outputs that --out-nodes names", select_outputs,
         PassLevel::kO0},
    // Must run before types are inferred, since it changes them.
    Pass{"normalize-zipmap", "makes ZipMap the tensor that it takes, with --zipmap=tensor",
         normalize_zipmap, PassLevel::kO0},
    Pass{"infer-types", "gives every value its type, folding constants on the way", infer_types,
         PassLevel::kO0},
    // From here on types are known.
    Pass{"normalize-dropout", "makes Dropout outside training an Identity", normalize_dropout,
         PassLevel::kO0},
    Pass{"normalize-padding", "writes auto_pad as numbers", normalize_padding, PassLevel::kO0},
    Pass{"resolve-shapes", "writes the target shapes of Reshape and Expand as numbers",
         resolve_shapes, PassLevel::kO0},
};

}  // namespace

namespace {

// Times the import, which counts as work, not as reading.
Result<Module> import_timed(ModelFile file, WorkReport work, const StageArgs& args) {
  SLUICE_ASSIGN(Module module, import_model(std::move(file), args.options));
  SLUICE_TRY(report_warnings(module, args.options));
  if (args.report != nullptr) args.report->push_back(work.done(module));
  return module;
}

Result<void> propose(const Module& module, const StageArgs& args) {
  const std::string path = args.options.text("propose-sizes");
  if (path.empty() || module.is_mid_stage()) return {};
  SLUICE_TRY(check_output_is_no_input(path, args.input));
  SLUICE_ASSIGN(const SizeProposal proposal, propose_sizes(module, args.options));
  return write_proposal(proposal, path);
}

}  // namespace

std::span<const Pass> preprocess_passes() { return kPasses; }

Result<Module> read_model(const StageArgs& args) {
  WorkReport work("import-model");
  SLUICE_ASSIGN(ModelFile file, open_model_file(args.input));
  if (file_kind(file.bytes) != FileKind::kGraph) return import_timed(std::move(file), work, args);
  SLUICE_ASSIGN(Module module, read_graph(file.bytes, file.owner, file.name));
  module.source = file.name;
  if (module.last_stage != StageId::kNone || !module.is_mid_stage()) {
    return make_error(ErrorCode::kWrongLevel,
                      "needs an ONNX model, or a graph that sluice-preprocess --stop-after wrote")
        .with_hint("this graph is past this stage already; give it to the next one");
  }
  SLUICE_TRY(verify(module, module.level));
  return module;
}

Result<Module> preprocess(Module module, const StageArgs& args) {
  SLUICE_ASSIGN(const rules::RuleRows rows,
                rules::RuleRows::load(kPasses, StageId::kPreprocess, args.options));
  SLUICE_ASSIGN(const PassRows own,
                PassRows::load(rows.passes(), StageId::kPreprocess, args.options));
  auto ran = run_passes(module, own.passes(), args.options);
  if (ran && !module.is_mid_stage()) warn_of_lenient_forms(module);
  auto reported = report_warnings(module, args.options);
  if (!ran) return std::move(ran).error();
  SLUICE_TRY(std::move(reported));
  SLUICE_TRY(propose(module, args));
  const std::vector<PassReport>& report = *ran;
  if (args.report != nullptr) args.report->insert(args.report->end(), report.begin(), report.end());
  return module;
}

}  // namespace sluice
