// The texts whose digests name kernels: every number of a specification, in one order.
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

std::string canonical_text(const MatMulSpec& s) {
  std::string text = fmt::format("matmul {} {} {} a {} {} packed {} b {} {} c {}", s.m, s.n, s.k, s.a_row_stride, s.a_k_stride, s.b_packed,
                                 s.b_row_stride, s.b_column_stride, s.c_row_stride);
  for (const BatchAxis& axis : s.batch) text += fmt::format(" batch {} {} {} {}", axis.size, axis.a_stride, axis.b_stride, axis.c_stride);
  return text + " " + canonical_text(s.epilogue);
}

std::string canonical_text(const ConvSpec& s) {
  return fmt::format("conv x {} {} {} {} y {} {} {} k {} {} stride {} {} dilation {} {} pad {} {} groups {} pixel {} {} {}", s.n, s.h, s.w,
                     s.ci, s.oh, s.ow, s.co, s.kh, s.kw, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w, s.pad_top, s.pad_left,
                     s.groups, s.x_pixel_stride, s.y_pixel_stride, canonical_text(s.epilogue));
}

std::string canonical_text(const PackSpec& s) {
  std::string text = fmt::format("pack {} {} {}", s.nr, s.columns.size, s.columns.stride);
  for (const PackAxis& axis : s.batch) text += fmt::format(" batch {} {}", axis.size, axis.stride);
  for (const PackAxis& axis : s.reduction) text += fmt::format(" reduction {} {}", axis.size, axis.stride);
  return text;
}

}  // namespace sluice
