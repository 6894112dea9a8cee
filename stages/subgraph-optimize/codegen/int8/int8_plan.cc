#include "stages/subgraph-optimize/codegen/int8/int8_plan.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/contraction/plan.h"

namespace sluice {
namespace {

// Returns the bytes from one copied row to the next: whole cache lines, and never a multiple of 2
// KiB, which would put all rows into few cache sets.
int64_t conv_row_bytes(int64_t steps) {
  const int64_t bytes = ceil_div(4 * steps, 64) * 64;
  return bytes % 2048 == 0 ? bytes + 64 : bytes;
}

class Int8Planner {
 public:
  Int8Planner(const Int8ConvSpec& spec, const DeviceProfile& profile)
      : spec_(spec), s_(spec.conv), profile_(profile) {}

  // Panels are widened once for each block where that is estimated to be faster than to do it in
  // each tile, and where scratch has space for one.
  Int8Plan choose() const {
    const Int8Plan plan = make_plan(false);
    if (profile_.int8_dot_product) return plan;
    const Int8Plan widening = make_plan(true);
    const bool fits = widening.scratch_bytes <= static_cast<uint64_t>(profile_.scratch_limit);
    return fits && widening.tiles.cycles < plan.tiles.cycles ? widening : plan;
  }

 private:
  // Returns the steps of a tile, of 32 bits of x each. Pairs of 16 bits are two of a packed four.
  int64_t steps(bool widens_panels) const {
    const int64_t fours = ceil_div(int8_reduction(s_), 4);
    if (profile_.int8_dot_product) return fours;
    return widens_panels ? 2 * fours : ceil_div(int8_reduction(s_), 2);
  }

  // Returns the cycles of a copy of a row, or of a column, to scratch.
  double widening_cycles(int64_t steps) const {
    return repack_cycles(static_cast<double>(steps) * 32 / profile_.vector_bits, profile_);
  }

  double row_copy_cycles(int64_t steps) const {
    constexpr double kRow = 10, kRun = 4;  // to find a row, and a run of it
    const int64_t runs = is_pointwise(s_) ? 1 : s_.groups == 1 ? s_.kh : s_.kh * s_.kw;
    return kRow + static_cast<double>(runs) * kRun + widening_cycles(steps);
  }

  ContractionSize size(bool widens_panels, bool copies_rows) const {
    ContractionSize size;
    size.rows = (s_.n * s_.oh * s_.ow).nominal;
    size.columns = s_.co / s_.groups;
    size.reduction = steps(widens_panels);
    size.batch = s_.groups;
    if (copies_rows) {
      size.prepared_row_cycles = row_copy_cycles(size.reduction);
    } else {
      size.row_bytes = s_.ci;
    }
    if (profile_.int8_dot_product) return size;
    size.operands.reserved_registers = 1;  // for the products in flight
    if (widens_panels) {
      // Half of the weights are taken to be narrow, which are not widened.
      size.prepared_column_cycles = widening_cycles(size.reduction) / 2;
    } else {
      ++size.operands.reserved_registers;  // for a vector to widen
      size.operands.instructions_per_vector = 1;
    }
    return size;
  }

  Int8Plan make_plan(bool widens_panels) const {
    Int8Plan plan;
    plan.unit = profile_.int8_dot_product || widens_panels ? 4 : 2;
    plan.copies_rows = !profile_.int8_dot_product || !has_rows_in_place(spec_);
    const ContractionSize size = this->size(widens_panels, plan.copies_rows);
    plan.tiles = is_fixed(s_) ? choose_plan(size, profile_)
                              : choose_symbolic_plan(size, true, false, profile_);
    if (plan.copies_rows) plan.row_bytes = conv_row_bytes(size.reduction);
    if (widens_panels) plan.panel_bytes = size.reduction * plan.tiles.nr * 4;
    divide_scratch(plan);
    return plan;
  }

  // Lowers tiles, then makes groups of panels smaller, as far as scratch demands.
  void divide_scratch(Int8Plan& plan) const {
    ContractionPlan& tiles = plan.tiles;
    const int64_t limit = profile_.scratch_limit - plan.panel_bytes;
    if (plan.row_bytes > 0)
      tiles.rows = static_cast<int>(std::clamp<int64_t>(limit / plan.row_bytes, 1, tiles.rows));
    plan.sums_offset = tiles.rows * plan.row_bytes;
    plan.panels_offset = plan.sums_offset + round_up(4 * tiles.rows, 64);
    if (plan.widens_panels()) {
      const int64_t panels = (profile_.scratch_limit - plan.panels_offset) / plan.panel_bytes;
      tiles.panel_group = std::clamp<int64_t>(panels, 1, tiles.panel_group);
    }
    const int64_t panels = plan.widens_panels() ? tiles.panel_group : 0;
    plan.scratch_bytes = static_cast<uint64_t>(plan.panels_offset + panels * plan.panel_bytes);
  }

  const Int8ConvSpec& spec_;
  const ConvSpec& s_;
  const DeviceProfile& profile_;
};

}  // namespace

int64_t int8_reduction(const ConvSpec& s) { return s.kh * s.kw * (s.ci / s.groups); }

bool has_rows_in_place(const Int8ConvSpec& spec) {
  return !spec.numbers.x_signed && is_pointwise(spec.conv) && int8_reduction(spec.conv) % 4 == 0;
}

Int8Plan choose_int8_plan(const Int8ConvSpec& spec, const DeviceProfile& profile) {
  return Int8Planner(spec, profile).choose();
}

}  // namespace sluice
