#include "stages/subgraph-optimize/compile_kernel.h"

#include <unistd.h>

#include "common/base/count_text.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "common/stage/run_stage.h"
#include "stages/subgraph-optimize/codegen/emit/llvm_memory.h"
#include "stages/subgraph-optimize/codegen/loop/loop_kernel.h"

namespace sluice {
namespace {

void log_kernel(const GeneratedKernel& kernel) {
  const bool is_fixed = kernel.multiply_adds_per_block == 0;
  log_line(stage_program(StageId::kSubgraphOptimize), "kernel",
           fmt::format("{}, {}{}, {} bytes of scratch", kernel.entry, is_fixed ? "" : "at most ",
                       count_text(kernel.blocks, "block"), kernel.scratch_bytes));
}

}  // namespace

Result<bool> compile_kernel(const StageArgs& args) {
  const std::string path = args.options.text("kernel");
  if (path.empty()) return false;
  if (args.input != "-")
    return make_error(ErrorCode::kUsage, "--kernel compiles one kernel and reads no graph");
  SLUICE_TRY(check_binary_output(args));
  SLUICE_ASSIGN(const std::string text, read_text(path));
  const LlvmMemory memory;
  SLUICE_ASSIGN(const GeneratedKernel kernel, generate_loops(text, path));
  SLUICE_TRY(args.output == "-" ? write_descriptor(STDOUT_FILENO, kernel.object)
                                : write_file(args.output, kernel.object));
  log_kernel(kernel);
  return true;
}

}  // namespace sluice
