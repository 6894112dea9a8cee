// The text of a loop graph, the last part of a kernel's specification
// (common/target/kernel_specification.h). It is complete: the graph that it parses to computes the
// same.
//
//   loops 1
//   size n0 = dim 0 in [1, 64] nominal 4
//   buffer y0: f32[n0, 768] written
//   buffer x1: f16[n0, 768] stored [1 by 16, 0, 1 mod 16]
//   nest for i0 < n0 {
//     sweep for i1 < 768 {
//       %0: f32 = constant 0
//       %1: f32 = load x1[i0, i1]
//       $0: f32 = sum of %1 from %0
//     }
//     sweep for i2 < 768 {
//       %2: f32 = value $0
//       %3: f32 = load x1[i0, i2 - 1] if 0 <= i2 - 1 < 768 else %2
//       store y0[i0, i2] = %3
//     }
//   }
//
// Sizes (n) count dims of operands, buffers are outputs (y), inputs (x) and row-local ones (t), %
// are instructions and $ accumulators of their nest. Other lines of a sweep:
//
//   %4: bool = test 0 <= i0 < 5 and 0 <= i2 < n0         kTest
//   %5: i64 = expression i0 + 2*i2                       kIndex
//   %6: i64 as v0 in [0, 8] = index %5, %7               a scalar operator; v0 is its symbol
//   %8: i64 = position $1                                kPosition
//   $1: f32 = argmax of %1 at %5 from %0 last
//
// A buffer may have "capacity [...]" and "stored [...]", its stored axes: a dim, "by" its divisor,
// "mod" its modulus. `#` begins a comment.
#pragma once

#include <string>
#include <string_view>

#include "common/base/lexer.h"
#include "common/base/result.h"
#include "common/loop/loop_graph.h"

namespace sluice::loop {

// Returns the same graph with the symbols in the order and with the names of the text, and with
// only the expressions that are used. Loop graphs are equal when these are printed alike. `graph`
// verifies.
LoopGraph canonical(const LoopGraph& graph);

// Prints a graph that verifies. The text does not depend on names, nor on when expressions were
// made. Parsing it and printing again gives the same text.
std::string print_loops(const LoopGraph& graph);

// Parses a text; what it says need not verify. name is that of the text, for errors like
// "name:line:column: …" (kBadText).
Result<LoopGraph> parse_loops(std::string_view text, const std::string& name);
// Parses from the lexer's token to the end: a text that stands below others.
Result<LoopGraph> parse_loops(text::Lexer lexer);

// Returns "sum", "argmax", …
std::string_view combine_name(Combine combine);
std::optional<Combine> combine_from_name(std::string_view name);

}  // namespace sluice::loop
