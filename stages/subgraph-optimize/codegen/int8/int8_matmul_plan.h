// What the kernel of a product of two matrices of bytes keeps in scratch: a group of panels and the
// rows of a tile with their sums. No LLVM is needed.
#pragma once

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/int8/int8.h"

namespace sluice {

struct Int8MatMulPlan {
  ContractionPlan tiles;
  // How panels are multiplied: as bytes, each panel followed by its sums and zero points, or as
  // pairs of 16 bits. With both, a group of panels is of pairs unless its bytes are narrow.
  bool has_bytes = true, has_pairs = true;
  int64_t piece = 0;  // products of a panel: the longest sum, or as many as fit
  int64_t row_bytes = 0;

  int64_t element_bytes() const { return has_pairs ? 2 : 1; }  // at most
  int64_t fours_bytes() const { return round_up(piece, 4) * tiles.nr; }
  int64_t panel_bytes() const {
    const int64_t bytes = has_bytes ? fours_bytes() + 2 * 4 * tiles.nr : 0;
    const int64_t pairs = has_pairs ? 2 * fours_bytes() : 0;
    return bytes > pairs ? bytes : pairs;
  }
  int64_t rows_offset() const { return tiles.panel_group * panel_bytes(); }
  int64_t sums_offset() const { return rows_offset() + tiles.rows * row_bytes; }
  int64_t scratch_bytes() const { return sums_offset() + 4 * tiles.rows; }
};

Int8MatMulPlan choose_int8_matmul_plan(const Int8MatMulSpec& spec, const DeviceProfile& profile);

}  // namespace sluice
