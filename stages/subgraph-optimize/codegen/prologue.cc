#include "stages/subgraph-optimize/codegen/prologue.h"

#include <algorithm>

#include "common/loop/text.h"
#include "common/loop/verify.h"
#include "fmt/format.h"

namespace sluice {
namespace {

using loop::InstructionKind;

bool may_fault(const loop::Nest& nest) {
  return std::ranges::any_of(nest.instructions, [](const loop::Instruction& own) {
    return own.kind == InstructionKind::kScalar && loop::may_fault(own.op, own.dtype);
  });
}

}  // namespace

Result<void> check_prologue(const Prologue& prologue, int64_t columns) {
  if (prologue.is_empty()) return {};
  const auto broken = [](const auto& reason) {
    return make_error(ErrorCode::kCodegen, "prologue: {}", reason);
  };
  const loop::LoopGraph& loops = prologue.loops;
  if (auto verified = loop::verify(loops); !verified) return broken(verified.error().message);
  const loop::Buffer& matrix = loops.buffers[0];
  if (matrix.dims.size() != 2 || matrix.dtype != DType::kF32 ||
      loops.expressions.as_constant(matrix.dims[1]) != columns)
    return broken(fmt::format("it makes no matrix of {} columns", columns));
  for (const loop::Nest& nest : loops.nests) {
    if (nest.sweeps.size() != 1 || !nest.sweeps[0].axes.empty())
      return broken("an element is not computed from single elements");
    if (may_fault(nest)) return broken("it may fault");
  }
  return {};
}

bool is_fixed(const Prologue& prologue) { return loop::is_fixed(prologue.loops); }

std::string canonical_text(const Prologue& prologue) {
  if (prologue.is_empty()) return {};
  return fmt::format(" prologue {} math {}\n{}", prologue.first_symbol,
                     math_precision_name(prologue.math), loop::print_loops(prologue.loops));
}

}  // namespace sluice
