// What computes the first operand of a contraction: its kernel computes the rows of a tile in
// scratch before it reads them.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "common/loop/loop_graph.h"
#include "common/target/math_precision.h"

namespace sluice {

struct Prologue {
  // As of common/loop/prologue.h: the operand as a dense matrix, whose rows are those of all batch
  // entries, and what is read. Without nests the operand is read from memory.
  loop::LoopGraph loops;
  // The first dim of what is read is this one of the kernel's symbols; the others follow.
  uint16_t first_symbol = 0;
  MathPrecision math = MathPrecision::kDefault;

  bool is_empty() const { return loops.nests.empty(); }
  // Returns how many pointers the first operand has.
  int pointers() const { return is_empty() ? 1 : static_cast<int>(loops.buffers.size()) - 1; }
};

// Returns kCodegen when the loops do not verify, do not make a matrix of `columns` columns, or may
// fault.
Result<void> check_prologue(const Prologue& prologue, int64_t columns);
bool is_fixed(const Prologue& prologue);
std::string canonical_text(const Prologue& prologue);

}  // namespace sluice
