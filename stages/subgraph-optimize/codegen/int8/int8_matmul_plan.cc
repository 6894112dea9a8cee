#include "stages/subgraph-optimize/codegen/int8/int8_matmul_plan.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/contraction/plan.h"

namespace sluice {
namespace {

// The products that a panel is filled up to: those of two steps of pairs, or of one of bytes.
constexpr int64_t kUnit = 4;

// Returns the bytes from one copied row to the next: whole cache lines with room for a step more,
// and never a multiple of 2 KiB, which would put all rows into few cache sets.
int64_t matmul_row_bytes(int64_t products, const Int8MatMulPlan& plan) {
  const int64_t bytes = round_up((products + kUnit) * plan.element_bytes(), 64);
  return bytes % 2048 == 0 ? bytes + 64 : bytes;
}

void set_piece(int64_t products, Int8MatMulPlan& plan) {
  plan.piece = products;
  plan.row_bytes = matmul_row_bytes(products, plan);
}

// Sums of a known length are in one piece, for which groups of panels become smaller, tiles
// narrower, then lower, as far as scratch demands; others are in pieces that leave the second cache
// to one panel.
void choose_piece(const Int8MatMulSpec& spec, const DeviceProfile& profile, Int8MatMulPlan& plan) {
  const Extent& k = spec.product.k;
  ContractionPlan& tiles = plan.tiles;
  if (!k.is_fixed()) {
    tiles.panel_group = 1;
    const int64_t bytes = std::min(profile.l2_bytes / 2, profile.scratch_limit / 2);
    const int64_t products = bytes / ((tiles.nr + tiles.rows) * plan.element_bytes());
    return set_piece(std::max<int64_t>(products / kUnit * kUnit, kUnit), plan);
  }
  set_piece(k.factor, plan);
  const auto is_too_large = [&] { return plan.scratch_bytes() > profile.scratch_limit; };
  while (is_too_large() && tiles.panel_group > 1) --tiles.panel_group;
  while (is_too_large() && tiles.vectors > 1) {
    --tiles.vectors;
    tiles.nr = int64_t{tiles.lanes} * tiles.vectors;
    tiles.panels = ceil_div(spec.product.n.nominal, tiles.nr);
  }
  while (is_too_large() && tiles.rows > 1) --tiles.rows;
}

// Whether bytes are narrow is worth to be found out for many rows, and where vectors have the
// instruction that multiplies them.
bool tries_bytes(const Int8MatMulSpec& spec, const ContractionPlan& tiles,
                 const DeviceProfile& profile) {
  return profile.vector_bits >= 256 && spec.product.m.nominal > 2 * tiles.rows;
}

}  // namespace

Int8MatMulPlan choose_int8_matmul_plan(const Int8MatMulSpec& spec, const DeviceProfile& profile) {
  const MatMulSpec& s = spec.product;
  Int8MatMulPlan plan;
  plan.has_pairs = !profile.int8_dot_product;
  ContractionSize size;
  size.rows = s.m.nominal;
  size.columns = s.n.nominal;
  size.reduction = ceil_div(s.k.nominal, plan.has_pairs ? 2 : 4);
  for (const BatchAxis& axis : s.batch) size.batch *= axis.size.nominal;
  const double vectors = static_cast<double>(size.reduction) * 32 / profile.vector_bits;
  size.prepared_row_cycles = size.prepared_column_cycles = repack_cycles(vectors, profile);
  if (plan.has_pairs) size.operands.reserved_registers = 1;  // for the products in flight
  plan.tiles = is_fixed(s) ? choose_plan(size, profile)
                           : choose_symbolic_plan(size, !s.m.is_fixed(), !s.n.is_fixed(), profile);
  plan.has_bytes = !plan.has_pairs || tries_bytes(spec, plan.tiles, profile);
  choose_piece(spec, profile, plan);
  return plan;
}

}  // namespace sluice
