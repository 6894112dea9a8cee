// The loops around the register tiles where sizes are known only when the kernel runs: the
// counterpart of contraction_nest.h, shared by MatMul and Conv.
//
// Rows are cut into as few tiles as the plan's rows allow, of sizes that differ by at most one:
// there is a tile function for every number of rows, unless has_many_rows. The launch's blocks are
// spread over batch entries, then row tiles and panels, so that the same code serves one row
// (blocks share the panels) and thousands. Results do not depend on the number of blocks.
#pragma once

#include <map>
#include <tuple>

#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

struct SymbolicNest {
  // The position of one tile: its first row, its panel, and the columns of the panel before it.
  struct Place {
    llvm::Value *row, *panel, *column;
    llvm::Value* active;  // lanes of its last vector
  };

  Extent batch = 1;
  Extent rows = 1;     // of one batch entry
  Extent columns = 1;  // of one batch entry
  Extent reduction = 1;
  ContractionPlan plan;
  // Tiles have the plan's rows except the last, which is made of smaller ones: fewer tile
  // functions.
  bool has_many_rows = false;
  // prepare_panel does work: one panel is prepared at a time, and blocks share panels before rows.
  bool panels_are_dear = false;

  // These are called as in ContractionNest.
  std::function<void(llvm::Value* entry)> enter;
  std::function<void(llvm::Value* panel)> prepare_panel;
  std::function<llvm::Value*(llvm::Value* row, llvm::Value* rows)> prepare_rows;
  std::function<void(const TileShape& shape, llvm::Value* a, const Place& place)> call;
};

// Returns every tile that the loops may call; all are symbolic.
std::vector<TileShape> nest_tile_shapes(const SymbolicNest& nest, bool has_masks);

// Writes the loops into the kernel at the insert point; with a size of 0 they do nothing.
void emit_nest(KernelBuilder& builder, const SymbolicNest& nest);

// Sets the numbers of a symbolic kernel's launch.
void set_launch(const SymbolicNest& nest, GeneratedKernel& kernel);

// Returns first, first + 1, …, last.
std::vector<int> numbers(int first, int last);

// Returns `maximum` and a few smaller sizes down to 1: tiles of these sizes in turn make up any
// number.
std::vector<int> falling_sizes(int maximum);

// Emits branches that run body with the option that `number` equals; options ascend and include it.
void emit_choice(KernelBuilder& builder, llvm::Value* number, const std::vector<int>& options,
                 const std::function<void(int)>& body);

}  // namespace sluice
