#include "stages/subgraph-optimize/codegen/attention/attention_plan.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/contraction/plan.h"

namespace sluice {
namespace {

constexpr int64_t kFloatBytes = 4;
constexpr int64_t kMinKeys = 32, kMaxKeys = 512;

RegisterTile choose_tile(const ContractionSize& size, bool rows_are_symbolic,
                         bool columns_are_symbolic, const DeviceProfile& profile) {
  const ContractionPlan plan =
      rows_are_symbolic || columns_are_symbolic
          ? choose_symbolic_plan(size, rows_are_symbolic, columns_are_symbolic, profile)
          : choose_plan(size, profile);
  return {plan.lanes, plan.vectors, plan.rows};
}

// Returns the rows of a task, in whole tiles: so many that the packed queries, which every tile of
// keys reads again, leave half of the first cache to keys.
int64_t choose_rows(const AttentionSpec& spec, const RegisterTile& tile,
                    const DeviceProfile& profile) {
  const int64_t space = profile.l1_bytes / 2 / kFloatBytes;
  const int64_t fitting = space / std::max(spec.key_size, spec.value_size);
  const int64_t width = width_of(tile);
  const int64_t whole = std::max<int64_t>(1, fitting / width) * width;
  const Extent rows = spec.rows();
  return rows.is_fixed() ? std::min(whole, round_up(rows.factor, width)) : whole;
}

// Returns the keys of a tile, whose scores and values fill a part of the second cache; tiles of a
// fixed number of keys are of about one size.
int64_t choose_keys(const AttentionSpec& spec, int64_t rows, int lanes,
                    const DeviceProfile& profile) {
  const int64_t space = profile.l2_bytes / 8 / kFloatBytes;
  const int64_t fitting =
      std::clamp(space / (rows + spec.value_size), kMinKeys, kMaxKeys) / lanes * lanes;
  if (!spec.keys.is_fixed()) return fitting;
  const int64_t keys = std::max<int64_t>(1, spec.keys.factor);
  return round_up(ceil_div(keys, ceil_div(keys, fitting)), lanes);
}

void choose_tiles(const AttentionSpec& spec, const DeviceProfile& profile, AttentionPlan& plan) {
  const Extent rows = spec.rows();
  ContractionSize scores;
  scores.rows = std::clamp<int64_t>(spec.keys.nominal, 1, kMaxKeys);
  scores.columns = std::max<int64_t>(1, rows.nominal);
  scores.reduction = spec.key_size;
  plan.scores = choose_tile(scores, true, !rows.is_fixed(), profile);
  plan.rows = choose_rows(spec, plan.scores, profile);
  plan.dot_lanes = profile.vector_bits / 32;
  plan.few_rows = plan.dot_lanes / 2;
  plan.keys = choose_keys(spec, plan.rows, plan.dot_lanes, profile);
  ContractionSize values;
  values.rows = plan.rows;
  values.columns = spec.value_size;
  values.reduction = plan.keys;
  plan.values = choose_tile(values, !rows.is_fixed(), false, profile);
}

// Gives each part of scratch its place; all begin at a line of the cache.
void lay_out(const AttentionSpec& spec, AttentionPlan& plan) {
  const auto place = [&](int64_t floats) {
    const int64_t at = plan.scratch_floats;
    plan.scratch_floats += round_up(floats, 16);
    return at;
  };
  plan.softmax_vectors = std::min(plan.scores.vectors, 2);
  const int64_t side_by_side = int64_t{plan.softmax_vectors} * plan.scores.lanes;
  plan.row_capacity =
      std::max({round_up(plan.rows, width_of(plan.scores)), round_up(plan.rows, side_by_side),
                round_up(plan.rows, plan.values.rows)});
  plan.column_stride = round_up(spec.value_size, plan.values.lanes);
  plan.queries_at = place(round_up(plan.rows, width_of(plan.scores)) * spec.key_size);
  plan.scores_at = place(plan.keys * plan.row_capacity);
  plan.sums_at = place(plan.row_capacity * plan.column_stride);
  if (plan.packs_values)
    plan.values_at = place(plan.keys * round_up(spec.value_size, width_of(plan.values)));
  // The distance is no power of two, which would put all keys into few cache sets.
  plan.key_stride = round_up(spec.key_size, 16) + 16;
  if (has_narrow_keys(spec)) plan.keys_at = place(plan.scores.rows * plan.key_stride);
  for (int64_t* at : {&plan.maxima_at, &plan.norms_at, &plan.factors_at, &plan.positions_at})
    *at = place(plan.row_capacity);
  plan.mask_offsets_at = place(plan.row_capacity * 2);
}

// Returns the estimated cycles of a run at the nominal sizes: products, and an exponential for each
// score; of few queries, what reading the keys and values takes.
double cycles_of(const AttentionSpec& spec, const AttentionPlan& plan,
                 const DeviceProfile& profile) {
  const int64_t sizes = spec.key_size + spec.value_size;
  const auto scores = static_cast<double>(multiply_adds(spec).nominal / sizes);
  const double exponential = static_cast<double>(profile.costs.transcendental) / 100;
  const double products =
      static_cast<double>(sizes) * multiply_add_cycles(plan.scores.lanes, profile);
  const auto read = static_cast<double>((spec.batch * spec.keys * (spec.kv_heads * sizes)).nominal);
  return std::max(scores * (products + exponential) / plan.scores.lanes,
                  memory_cycles(read * 4, profile));
}

void choose_blocks(const AttentionSpec& spec, const DeviceProfile& profile, AttentionPlan& plan) {
  plan.cycles = cycles_of(spec, plan, profile);
  plan.blocks = kMaxContractionBlocks;
  if (!is_fixed(spec)) {
    plan.multiply_adds_per_block =
        multiply_adds_per_block(multiply_adds(spec), plan.cycles, profile);
    return;
  }
  const int64_t groups = ceil_div(spec.rows().factor, plan.rows);
  plan.blocks = count_blocks(plan.cycles, spec.batch.factor * spec.kv_heads * groups, profile);
}

}  // namespace

AttentionPlan choose_attention_plan(const AttentionSpec& spec, const DeviceProfile& profile) {
  AttentionPlan plan;
  choose_tiles(spec, profile, plan);
  plan.packs_values = (spec.v.dtype != DType::kF32 || spec.v.row_stride > spec.value_size) &&
                      spec.rows().nominal > 2 * plan.values.rows;
  lay_out(spec, plan);
  choose_blocks(spec, profile, plan);
  return plan;
}

// The last task of more rows may have few.
bool may_have_few_rows(const AttentionSpec& spec, const AttentionPlan& plan) {
  const Extent rows = spec.rows();
  if (!rows.is_fixed()) return true;
  const int64_t last = rows.factor % plan.rows;
  return rows.factor <= plan.few_rows || (last > 0 && last <= plan.few_rows);
}

bool may_have_many_rows(const AttentionSpec& spec, const AttentionPlan& plan) {
  return !spec.rows().is_fixed() || spec.rows().factor > plan.few_rows;
}

bool has_narrow_keys(const AttentionSpec& spec) { return spec.k.dtype != DType::kF32; }

int64_t width_of(const RegisterTile& tile) { return int64_t{tile.vectors} * tile.lanes; }

Extent multiply_adds(const AttentionSpec& spec) {
  return spec.batch * spec.queries * spec.keys * (spec.heads * (spec.key_size + spec.value_size));
}

bool is_fixed(const AttentionSpec& s) {
  const auto are_fixed = [](std::initializer_list<const Extent*> extents) {
    return std::all_of(extents.begin(), extents.end(),
                       [](const Extent* extent) { return extent->is_fixed(); });
  };
  const auto has_fixed_strides = [&](const AttentionOperand& operand) {
    return are_fixed({&operand.batch_stride, &operand.head_stride});
  };
  return are_fixed({&s.batch, &s.queries, &s.keys, &s.mask.batch_stride, &s.mask.head_stride,
                    &s.mask.row_stride}) &&
         has_fixed_strides(s.q) && has_fixed_strides(s.k) && has_fixed_strides(s.v) &&
         has_fixed_strides(s.y);
}

}  // namespace sluice
