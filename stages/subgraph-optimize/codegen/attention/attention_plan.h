// How an attention kernel is cut: rows of a task, keys of a tile, register tiles, and where things
// lie in scratch.
#pragma once

#include "stages/subgraph-optimize/codegen/attention/attention.h"
#include "stages/subgraph-optimize/codegen/cost.h"

namespace sluice {

struct AttentionPlan {
  RegisterTile scores;   // keys x queries
  RegisterTile values;   // queries x columns of V
  int64_t rows = 1;      // of a task, at most
  int64_t few_rows = 1;  // up to so many are computed by dot products
  int dot_lanes = 1;     // of these
  int64_t keys = 1;      // of a tile, at most
  // Several tiles read V, whose rows gaps separate or whose elements are of 16 bits.
  bool packs_values = false;
  int softmax_vectors = 1;  // vectors of rows that the softmax computes side by side

  // Distances in scratch, in floats.
  int64_t row_capacity = 1;   // from the scores of one key to those of the next
  int64_t column_stride = 1;  // from one row of O to the next
  int64_t key_stride = 1;     // from one widened key to the next
  int64_t queries_at = 0, scores_at = 0, sums_at = 0, values_at = 0;
  int64_t keys_at = 0;  // a register tile of keys, widened
  int64_t maxima_at = 0, norms_at = 0, factors_at = 0;
  int64_t positions_at = 0;     // i32 of each row: the last key that it may see
  int64_t mask_offsets_at = 0;  // i64 of each row: from the mask's first row to its own
  int64_t scratch_floats = 0;

  uint32_t blocks = 1;  // of the launch; at most, for a symbolic kernel
  int64_t multiply_adds_per_block = 0;
  double cycles = 0;  // estimated for one thread, at the nominal sizes
};

AttentionPlan choose_attention_plan(const AttentionSpec& spec, const DeviceProfile& profile);

// Return whether tasks of these rows occur.
bool may_have_few_rows(const AttentionSpec& spec, const AttentionPlan& plan);
bool may_have_many_rows(const AttentionSpec& spec, const AttentionPlan& plan);

// Returns whether keys are of 16 bits.
bool has_narrow_keys(const AttentionSpec& spec);

// Returns the sums of one row of a tile.
int64_t width_of(const RegisterTile& tile);

// Returns batch * heads * queries * keys * (key_size + value_size).
Extent multiply_adds(const AttentionSpec& spec);
bool is_fixed(const AttentionSpec& spec);

}  // namespace sluice
