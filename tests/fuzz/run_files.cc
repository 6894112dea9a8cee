// The target of files_main: it takes an ONNX model through all stages, and their result through the
// loader; a compiled model through the loader, its digests made to match and its kernels replaced
// by stand-ins. The model is bound to tiny sizes and run once. A line "run" is printed before the
// run, because the time of a model's own loops is not a fault of Sluice.
#include <cstdio>

#include "common/base/file_kind.h"
#include "common/base/memory.h"
#include "common/base/scratch_folder.h"
#include "common/graphfile/graphfile.h"
#include "stages/build/build.h"
#include "stages/optimize/optimize.h"
#include "stages/partition/partition.h"
#include "stages/preprocess/onnx/import.h"
#include "stages/preprocess/preprocess.h"
#include "stages/subgraph-optimize/subgraph_optimize.h"
#include "tests/fuzz/compiled_model.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace sluice;

using FileBytes = std::vector<std::byte>;

void say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

// Reads the module as the next stage reads it.
Result<Module> passed_on(Module module, Level level, StageId stage) {
  module.level = level;
  module.last_stage = stage;
  module.compact();
  SLUICE_ASSIGN(auto bytes, graph_bytes(module));
  return read_graph(std::make_shared<const FileBytes>(std::move(bytes)), "piped");
}

Result<void> compile(std::span<const std::byte> model, StageArgs& args) {
  std::vector<PassReport> report;
  args.report = &report;
  SLUICE_TRY(args.options.set("threads", "1"));
  SLUICE_TRY(args.options.set("profile", "cpu-generic"));
  SLUICE_ASSIGN(
      ModelFile file,
      parse_model_file(std::make_shared<const FileBytes>(model.begin(), model.end()), "damaged"));
  file.folder = "/proc/self/task/none";
  SLUICE_ASSIGN(Module module, import_model(std::move(file), args.options));
  SLUICE_ASSIGN(module, preprocess(std::move(module), args));
  SLUICE_ASSIGN(module, passed_on(std::move(module), Level::kTyped, StageId::kPreprocess));
  SLUICE_ASSIGN(module, optimize(std::move(module), args.options, report));
  SLUICE_ASSIGN(module, passed_on(std::move(module), Level::kTyped, StageId::kOptimize));
  SLUICE_ASSIGN(module, partition(std::move(module), args.options, report));
  SLUICE_ASSIGN(module, passed_on(std::move(module), Level::kPartitioned, StageId::kPartition));
  SLUICE_ASSIGN(module, subgraph_optimize(std::move(module), args.options, report));
  SLUICE_ASSIGN(module, passed_on(std::move(module), Level::kLowered, StageId::kSubgraphOptimize));
  SLUICE_ASSIGN(module, schedule(std::move(module), args.options, report));
  SLUICE_ASSIGN(module, passed_on(std::move(module), Level::kScheduled, StageId::kBuild));
  return write_model(module, args);
}

// Runs the model once; its own loops may take long.
Result<void> run(const std::shared_ptr<const OpenedModel>& model) {
  const std::vector<int64_t> symbols =
      fuzz::draw_symbols(model->def(), model->file().file.bytes().first(512).last(32), false);
  say("run");
  return fuzz::run_once(model, symbols);
}

Result<void> try_model(std::span<const std::byte> model) {
  SLUICE_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  StageArgs args;
  args.output = folder.file("model.om");
  SLUICE_TRY(compile(model, args));
  const auto opened = OpenedModel::open(args.output);
  if (!opened) fuzz::finding("what our own stages made does not open", error_text(opened.error()));
  return run(*opened);
}

Result<void> try_compiled_model(std::span<const std::byte> bytes) {
  const FileBytes om = fuzz::with_stand_ins(bytes);
  if (om.empty()) return {};
  SLUICE_ASSIGN(const auto opened, fuzz::open_with_stand_ins(om));
  return run(opened);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  const bool is_compiled = file_kind(bytes) == FileKind::kCompiledModel;
  const auto done =
      within_memory([&] { return is_compiled ? try_compiled_model(bytes) : try_model(bytes); });
  if (!done) fuzz::expect_unsupported_reason(done.error());
  return 0;
}
