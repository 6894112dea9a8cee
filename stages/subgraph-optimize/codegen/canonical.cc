// Writes the texts whose digests name kernels: every number of a specification, in one fixed order.
#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/codegen/dtype_text.h"

namespace sluice {
namespace {

std::string text_of(const Extent& extent) { return canonical_text(extent); }
std::string text_of(int64_t number) { return fmt::format("{}", number); }

// Returns the numbers with spaces between them.
template <typename... Numbers>
std::string list(const Numbers&... numbers) {
  return fmt::format("{}", fmt::join({text_of(numbers)...}, " "));
}

bool are_fixed(std::initializer_list<const Extent*> extents) {
  return std::all_of(extents.begin(), extents.end(),
                     [](const Extent* extent) { return extent->is_fixed(); });
}

}  // namespace

std::string dtype_text(DType dtype) {
  return dtype == DType::kF32 ? "" : fmt::format(" {}", dtype_name(dtype));
}

bool is_fixed(const MatMulSpec& s) {
  const auto is_fixed_axis = [](const BatchAxis& axis) {
    return are_fixed({&axis.size, &axis.a_stride, &axis.b_stride, &axis.c_stride});
  };
  return are_fixed({&s.m, &s.n, &s.k, &s.a_row_stride, &s.a_k_stride, &s.b_row_stride,
                    &s.b_column_stride, &s.c_row_stride}) &&
         std::all_of(s.batch.begin(), s.batch.end(), is_fixed_axis) && is_fixed(s.epilogue);
}

bool is_fixed(const ConvSpec& s) {
  return are_fixed({&s.n, &s.depth.in, &s.h, &s.w, &s.depth.out, &s.oh, &s.ow}) &&
         is_fixed(s.epilogue);
}

// A MatMul whose reduction is symbolic and whose B is not packed has a name of its own: an earlier
// generator of the same version let such kernels exceed their scratch, so theirs must not be
// reused.
std::string canonical_text(const MatMulSpec& s) {
  const char* name = s.b_packed || s.k.is_fixed() ? "matmul" : "matmul-any-k";
  std::string text =
      fmt::format("{}{} {} a {} packed {} b {} c {}", name, dtype_text(s.dtype),
                  list(s.m, s.n, s.k), list(s.a_row_stride, s.a_k_stride), s.b_packed,
                  list(s.b_row_stride, s.b_column_stride), list(s.c_row_stride));
  for (const BatchAxis& axis : s.batch)
    text += " batch " + list(axis.size, axis.a_stride, axis.b_stride, axis.c_stride);
  return text + " " + canonical_text(s.epilogue);
}

std::string canonical_text(const ConvSpec& s) {
  const ConvDepth& d = s.depth;
  const std::string depth =
      is_3d(s) ? "depth " + list(d.in, d.out, d.kernel, d.stride, d.dilation, d.pad) + " " : "";
  const ConvPhases& p = s.phases;
  const std::string phases =
      p == ConvPhases() ? "" : "phases " + list(p.h, p.w, p.cut_top, p.cut_left) + " ";
  return fmt::format("conv{} x {} y {} k {} stride {} dilation {} pad {} groups {} pixel {} {}{}{}",
                     dtype_text(s.dtype), list(s.n, s.h, s.w, s.ci), list(s.oh, s.ow, s.co),
                     list(s.kh, s.kw), list(s.stride_h, s.stride_w),
                     list(s.dilation_h, s.dilation_w), list(s.pad_top, s.pad_left), s.groups,
                     list(s.x_pixel_stride, s.y_pixel_stride), depth, phases,
                     canonical_text(s.epilogue));
}

}  // namespace sluice
