#include <algorithm>

#include "common/base/limits.h"
#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"

namespace sluice {
namespace {

constexpr int64_t kFloatsOfLine = 16;

int64_t round_up(int64_t value, int64_t unit) { return ceil_div(value, unit) * unit; }

int64_t areas_of(const RecurrentCell& cell) {
  if (cell.has_two_phases()) return 4;
  return cell.kind == CellKind::kLstm ? 3 : 2;
}

// Chooses the tile. A single sequence has many sums, since each waits for the one before; several
// have fewer, which leaves registers for more rows, and every vector of R is used for all of these.
void choose_tile(const RecurrentSpec& spec, const DeviceProfile& profile, RecurrentPlan& plan) {
  plan.lanes = profile.vector_bits / 32;
  const int registers = profile.vector_registers;
  const bool is_single = spec.batch.nominal == 1;
  plan.sums = is_single ? registers / 2 : registers / 4;
  plan.rows = is_single ? 1 : (registers - 1) / (plan.sums + 1);
  if (spec.batch.is_fixed())
    plan.rows = static_cast<int>(std::min<int64_t>(plan.rows, spec.batch.factor));
  plan.panel_vectors = is_single && spec.cell.hidden > plan.lanes ? 2 : 1;
  plan.nr = int64_t{plan.lanes} * plan.panel_vectors;
  plan.panels = ceil_div(spec.cell.hidden, plan.nr);
}

// Chooses how many sequences are walked together. Each group reads all of R in every step, from the
// last cache where it does not fit the level-2 cache: then groups are larger. They are no larger
// than that, so that there are enough of them for the workers.
int64_t choose_group(const RecurrentSpec& spec, const DeviceProfile& profile,
                     const RecurrentPlan& plan) {
  constexpr int64_t kWantedBlocks = 8, kMaxTiles = 4;
  const RecurrentCell& cell = spec.cell;
  const int64_t r_bytes = cell.gates() * cell.hidden * cell.hidden * 4;
  const int64_t smallest = r_bytes > profile.l2_bytes ? 2 * plan.rows : plan.rows;
  const int64_t wanted = ceil_div(spec.batch.nominal * cell.directions, kWantedBlocks);
  const int64_t group =
      std::clamp<int64_t>(wanted, smallest, std::max<int64_t>(kMaxTiles * plan.rows, smallest));
  return spec.batch.is_fixed() ? std::min(group, spec.batch.factor) : group;
}

RecurrentScratch lay_out(const RecurrentSpec& spec, const RecurrentPlan& plan) {
  RecurrentScratch scratch;
  scratch.stride = round_up(plan.panels * plan.nr, kFloatsOfLine);
  scratch.states = round_up(plan.group * kSequenceFloats, kFloatsOfLine);
  scratch.area = plan.group * scratch.stride;
  scratch.unread = scratch.states + areas_of(spec.cell) * scratch.area;
  scratch.size = scratch.unread + (spec.has_lengths && spec.has_y ? scratch.stride : 0);
  return scratch;
}

}  // namespace

Result<RecurrentPlan> choose_recurrent_plan(const RecurrentSpec& spec,
                                            const DeviceProfile& profile) {
  RecurrentPlan plan;
  choose_tile(spec, profile, plan);
  const int64_t limit = profile.scratch_limit / 4;
  for (plan.group = choose_group(spec, profile, plan); plan.group > 0; --plan.group) {
    plan.scratch = lay_out(spec, plan);
    if (plan.scratch.size <= limit) break;
  }
  if (plan.group == 0) {
    return make_error(ErrorCode::kNotLowerable,
                      "a recurrent cell of {} hidden units needs {} bytes of scratch, the device "
                      "has {}",
                      spec.cell.hidden, plan.scratch.size * 4, profile.scratch_limit);
  }
  plan.rows = static_cast<int>(std::min<int64_t>(plan.rows, plan.group));
  const int64_t groups = ceil_div(spec.batch.nominal, plan.group);
  plan.blocks = static_cast<uint32_t>(
      std::min<int64_t>(spec.cell.directions * groups, int64_t{kBlockLimit}));
  return plan;
}

std::string canonical_text(const RecurrentSpec& s) {
  const RecurrentCell& cell = s.cell;
  std::string text = fmt::format(
      "recurrent {} directions {} reverse {} batch_first {} linear {} coupled {} hidden {} clip {} "
      "steps {} batch {} y {} {} {} bias {} lengths {} h {} c {} peepholes {} math {}",
      static_cast<int>(cell.kind), cell.directions, cell.is_reverse, cell.is_batch_first,
      cell.linear_before_reset, cell.input_forget, cell.hidden, cell.clip,
      canonical_text(s.steps), canonical_text(s.batch), s.has_y, s.has_y_h, s.has_y_c, s.has_bias,
      s.has_lengths, s.has_h, s.has_c, s.has_peepholes, math_precision_name(s.math));
  for (const std::vector<CellActivation>& direction : cell.activations) {
    for (const CellActivation& activation : direction)
      text += fmt::format(" f {} {} {}", static_cast<int>(activation.kind), activation.alpha,
                          activation.beta);
  }
  return text;
}

}  // namespace sluice
