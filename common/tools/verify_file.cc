#include "common/tools/verify_file.h"

#include "common/verify/verify.h"
#include "runtime/checker/memory_checker.h"
#include "runtime/checker/stream_checker.h"
#include "runtime/loader/om_file.h"
#include "runtime/loader/om_names.h"

namespace sluice {
namespace {

// A broken promise is the answer to the question asked here, not bad input.
Result<void> answer(Result<void> verified) {
  if (!verified && verified.error().code == ErrorCode::kVerifyFailed) verified.error().code = ErrorCode::kDifferent;
  return verified;
}

std::string figures_line(const MemoryFigures& figures) {
  return fmt::format("arena_bytes {} live_bytes {} dense_live_bytes {} scratch_bytes_per_worker {}\n", figures.arena, figures.live,
                     figures.dense_live, figures.scratch_per_worker);
}

}  // namespace

Result<void> verify_graph(const Module& module, const std::string& level_text, bool hash) {
  Level level = module.level;
  if (!level_text.empty()) {
    const auto wanted = level_from_name(level_text);
    if (!wanted) return make_error(ErrorCode::kBadOption, "--level is '{}', it must be typed, partitioned or lowered", level_text);
    level = *wanted;
  }
  SLUICE_TRY(answer(verify(module, level)));
  return hash ? answer(verify_segments(module)) : Result<void>();
}

Result<std::string> verify_om(std::span<const std::byte> bytes, bool hash) {
  SLUICE_ASSIGN(OmBytes copy, OmBytes::copy(bytes));
  SLUICE_ASSIGN(const OmFile om, read_om(std::move(copy), {.weights = hash, .machine = false, .test_tasks = true}));
  std::string findings, figures;
  if (!NodeNames(*om.model).complete(om.model->nodes())) findings += "\n  the names of nodes are not as many as the nodes";
  for (const pb::PartDef& part : om.model->parts()) {
    if (!part.has_fixed()) continue;
    const auto values = static_cast<uint32_t>(part.fixed().value_type_size());
    if (!ValueNames(part.fixed()).complete(values)) findings += "\n  the names of values are not as many as the values";
    for (const StreamConflict& conflict : find_stream_conflicts(*om.model, part.fixed())) findings += "\n  " + conflict.text;
    for (const std::string& fault : find_memory_faults(*om.model, part.fixed(), om.segment(pb::SEGMENT_WEIGHTS).size()))
      findings += "\n  " + fault;
    if (findings.empty()) figures += figures_line(measure_memory(*om.model, part.fixed()));
  }
  if (findings.empty()) return figures;
  return make_error(ErrorCode::kDifferent, "tasks and memory do not fit together:{}", findings);
}

}  // namespace sluice
