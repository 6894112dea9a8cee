#include <algorithm>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/cost.h"
#include "stages/subgraph-optimize/codegen/dtype_text.h"
#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"

namespace sluice {
namespace {

constexpr int64_t kFloatsOfLine = 16;

int64_t areas_of(const RecurrentCell& cell) {
  if (cell.has_two_phases()) return 4;
  return cell.kind == CellKind::kLstm ? 3 : 2;
}

int64_t weights_of(const RecurrentCell& cell) {  // of one direction
  return cell.gates() * cell.hidden * cell.hidden;
}

int64_t weight_bytes(const RecurrentSpec& spec) {  // likewise
  return weights_of(spec.cell) * (spec.dtype == DType::kF32 ? 4 : 2);
}

// Chooses the tile. A single sequence has many sums, since each waits for the one before; several
// have fewer, which leaves registers for more rows, and every vector of R is used for all of these.
void choose_tile(const RecurrentSpec& spec, const DeviceProfile& profile, RecurrentPlan& plan) {
  plan.lanes = profile.vector_bits / 32;
  plan.sums = profile.vector_registers / 4;
  plan.sums_alone = profile.vector_registers / 2;
  const int vectors_of_r = spec.dtype == DType::kF32 ? 1 : 2;  // one more is being widened
  plan.rows = (profile.vector_registers - vectors_of_r) / (plan.sums + 1);
  if (spec.batch.is_fixed())
    plan.rows = static_cast<int>(std::min<int64_t>(plan.rows, spec.batch.factor));
  plan.panel_vectors = plan.rows == 1 && spec.cell.hidden > plan.lanes ? 2 : 1;
  plan.nr = int64_t{plan.lanes} * plan.panel_vectors;
  plan.panels = ceil_div(spec.cell.hidden, plan.nr);
}

// Returns the sequences for which the sums take as long as reading R in every step does. R of 16
// bits counts as f32: to widen it takes the time that its fewer lines save.
int64_t smallest_group(const RecurrentSpec& spec, const DeviceProfile& profile,
                       const RecurrentPlan& plan) {
  if (weight_bytes(spec) <= profile.l2_bytes) return plan.rows;
  const double vectors_of_line = static_cast<double>(kFloatsOfLine) / plan.lanes;
  const double line = static_cast<double>(profile.costs.memory_line) / 100;
  const double rows = line / (vectors_of_line * multiply_add_cycles(plan.lanes, profile));
  return round_up(std::max<int64_t>(static_cast<int64_t>(rows), 1), plan.rows);
}

// Chooses how many sequences are walked together: few, so that there are groups for many threads,
// but enough for R, and no more than have their states in the level-2 cache.
int64_t choose_group(const RecurrentSpec& spec, const DeviceProfile& profile,
                     const RecurrentPlan& plan) {
  const int64_t smallest = smallest_group(spec, profile, plan);
  const int64_t wanted = ceil_div(kMaxContractionBlocks / 4, spec.cell.directions);
  const int64_t groups = std::clamp<int64_t>(spec.batch.nominal / smallest, 1, wanted);
  const int64_t row_bytes = areas_of(spec.cell) * plan.panels * plan.nr * 4;
  const int64_t largest = std::max(smallest, profile.l2_bytes / 2 / row_bytes);
  const int64_t group = std::min(ceil_div(spec.batch.nominal, groups), largest);
  return spec.batch.is_fixed() ? group : std::max(group, smallest);
}

// Counts, for each step of a group, the lines of R or the sums, whatever takes longer, and the
// functions of the gates.
double estimate_cycles(const RecurrentSpec& spec, const DeviceProfile& profile,
                       const RecurrentPlan& plan, int64_t groups) {
  constexpr double kFunctions = 5;  // of an LSTM
  const int64_t bytes = weight_bytes(spec);
  const int64_t line =
      bytes > profile.l2_bytes ? profile.costs.last_cache_line : profile.costs.l2_line;
  const double rows = static_cast<double>(spec.batch.nominal) / static_cast<double>(groups);
  const double read = static_cast<double>(bytes) / 64 * static_cast<double>(line) / 100;
  const double sums = static_cast<double>(weights_of(spec.cell)) / plan.lanes * rows *
                      multiply_add_cycles(plan.lanes, profile);
  const double gates = static_cast<double>(spec.cell.hidden) / plan.lanes * rows * kFunctions *
                       static_cast<double>(profile.costs.transcendental) / 100;
  return static_cast<double>(spec.steps.nominal * spec.cell.directions * groups) *
         (std::max(read, sums) + gates);
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
  plan.cycles = estimate_cycles(spec, profile, plan, groups);
  plan.blocks = count_blocks(plan.cycles, spec.cell.directions * groups, profile);
  return plan;
}

std::string canonical_text(const RecurrentSpec& s) {
  const RecurrentCell& cell = s.cell;
  std::string text = fmt::format(
      "recurrent {} directions {} reverse {} batch_first {} linear {} coupled {} hidden {} clip {} "
      "steps {} batch {} y {} {} {} bias {} lengths {} h {} c {} peepholes {} math {}{}",
      static_cast<int>(cell.kind), cell.directions, cell.is_reverse, cell.is_batch_first,
      cell.linear_before_reset, cell.input_forget, cell.hidden, cell.clip, canonical_text(s.steps),
      canonical_text(s.batch), s.has_y, s.has_y_h, s.has_y_c, s.has_bias, s.has_lengths, s.has_h,
      s.has_c, s.has_peepholes, math_precision_name(s.math), dtype_text(s.dtype));
  for (const std::vector<CellActivation>& direction : cell.activations) {
    for (const CellActivation& activation : direction)
      text += fmt::format(" f {} {} {}", static_cast<int>(activation.kind), activation.alpha,
                          activation.beta);
  }
  return text;
}

}  // namespace sluice
