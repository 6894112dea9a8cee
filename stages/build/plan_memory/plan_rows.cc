#include "stages/build/plan_memory/plan_rows.h"

#include "common/base/count_text.h"
#include "common/base/file_kind.h"
#include "common/base/log.h"
#include "common/base/parallel.h"
#include "common/tools/tool_files.h"
#include "common/tools/tool_numbers.h"
#include "stages/build/memory/largest_live.h"
#include "stages/build/memory/live_peak.h"
#include "stages/build/memory/plan_offsets.h"
#include "stages/build/plan_memory/buffer_rows.h"

namespace sluice {
namespace {

std::string live_at(const BufferRows& rows, int64_t time) {
  std::vector<NamedBytes> live;
  for (size_t i = 0; i < rows.buffers.size(); ++i) {
    const Buffer& buffer = rows.buffers[i];
    if (buffer.bytes > 0 && buffer.first <= time && time <= buffer.last)
      live.push_back({std::string(rows.ids[i]), buffer.bytes});
  }
  return largest_live(std::move(live));
}

Result<void> check_capacity(const BufferRows& rows, const ChosenPlan& chosen, uint64_t capacity) {
  const uint64_t arena = chosen.plan.arena_bytes;
  if (arena <= capacity) return {};
  const LivePeak peak = live_peak(rows.buffers);
  if (peak.bytes > capacity) {
    return make_error(ErrorCode::kNoPlan,
                      "{} bytes are live at time {}, {} more than the capacity, {}: no plan can "
                      "fit. Live there: {}",
                      peak.bytes, peak.task, peak.bytes - capacity, capacity,
                      live_at(rows, peak.task));
  }
  const bool is_proved = chosen.bound > capacity;
  return make_error(ErrorCode::kNoPlan,
                    "the smallest arena found has {} bytes, {} more than the capacity, {}; none is "
                    "smaller than {}. Most bytes, {}, are live at time {}: {}",
                    arena, arena - capacity, capacity, chosen.bound, peak.bytes, peak.task,
                    live_at(rows, peak.task))
      .with_hint(is_proved ? "" : "a larger --steps searches longer");
}

}  // namespace

Result<ExitClass> plan_rows(const CommandLine& line) {
  PlanLimits limits{.threads = thread_count(0)};
  SLUICE_ASSIGN(limits.visits, whole_number(line, "--steps"));
  const bool is_limited = line.has("--capacity");
  if (is_limited) {
    SLUICE_ASSIGN(limits.enough, whole_number(line, "--capacity"));
  }
  SLUICE_TRY(check_input(line));
  SLUICE_ASSIGN(const InputBytes input, InputBytes::open(input_path(line)));
  const std::string_view text(reinterpret_cast<const char*>(input.bytes.data()),
                              input.bytes.size());
  auto rows = read_buffer_rows(text, input.name);
  if (!rows) return std::move(rows).error().with_hint(file_kind_hint(input.bytes));
  SLUICE_ASSIGN(const ChosenPlan chosen, plan_offsets(rows->buffers, limits));
  if (is_limited) SLUICE_TRY(check_capacity(*rows, chosen, limits.enough));
  SLUICE_TRY(write_tool_text(line, rows_with_offsets(*rows, chosen.plan.offsets)));
  log_line("sluice-plan-memory", "planned",
           fmt::format("{}: arena {} bytes, live at a time at most {}, planner {}",
                       count_text(rows->buffers.size(), "buffer"), chosen.plan.arena_bytes,
                       chosen.live_bytes, chosen.planner));
  return ExitClass::kDone;
}

}  // namespace sluice
