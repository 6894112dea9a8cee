#include "common/tools/verify_file.h"

#include "common/verify/verify.h"
#include "runtime/checker/stream_checker.h"
#include "runtime/loader/om_file.h"

namespace sluice {
namespace {

// A broken promise is the answer to the question asked here, not bad input.
Result<void> answer(Result<void> verified) {
  if (!verified && verified.error().code == ErrorCode::kVerifyFailed) verified.error().code = ErrorCode::kDifferent;
  return verified;
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

Result<void> verify_om(std::span<const std::byte> bytes, bool hash) {
  SLUICE_ASSIGN(OmBytes copy, OmBytes::copy(bytes));
  SLUICE_ASSIGN(const OmFile om, read_om(std::move(copy), {.weights = hash, .machine = false, .test_tasks = true}));
  std::string findings;
  for (const pb::PartDef& part : om.model->parts()) {
    if (!part.has_fixed()) continue;
    for (const StreamConflict& conflict : find_stream_conflicts(*om.model, part.fixed())) findings += "\n  " + conflict.text;
  }
  if (findings.empty()) return {};
  return make_error(ErrorCode::kDifferent, "streams and events do not order everything:{}", findings);
}

}  // namespace sluice
