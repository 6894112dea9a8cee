#include "common/eval/elementwise.h"

#include <array>

#include "common/eval/broadcast.h"
#include "common/eval/number.h"

namespace sluice::eval {
namespace {

constexpr int64_t kPiece = 512;  // elements of a row that are widened at a time
using WidenedPiece = std::array<int64_t, kPiece>;

size_t width(DType dtype) { return static_cast<size_t>(dtype_bits(dtype)) / 8; }

// Returns `count` elements in the type a row reads: in place, or widened.
const void* read(const Input& x, DType as, int64_t at, int64_t count, WidenedPiece& piece) {
  const size_t own = width(x.dtype);
  if (own == width(as)) return x.data + static_cast<size_t>(at) * own;
  load_ints(x.dtype, x.data, at, count, piece.data());
  return piece.data();
}

bool widens(DType tensor, DType row) { return width(tensor) != width(row); }

// Calls piece(first element of the row, count, destination) until `n` elements are computed.
template <typename F>
void in_pieces(const Output& y, DType as, int64_t out, int64_t n, F piece) {
  WidenedPiece made;
  const bool narrows = widens(y.dtype, as);
  for (int64_t first = 0; first < n; first += kPiece) {
    const int64_t count = std::min(kPiece, n - first);
    piece(first, count,
          narrows ? static_cast<void*>(made.data())
                  : y.data + static_cast<size_t>(out + first) * width(y.dtype));
    if (narrows) store_ints(y.dtype, y.data, out + first, count, made.data());
  }
}

}  // namespace

DType number_class(DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kU64) return dtype;
  return dtype_is_integer(dtype) && dtype_bits(dtype) >= 8 ? DType::kI64 : DType::kUndefined;
}

void apply_unary(const Input& x, const Output& y, const UnaryKernel& kernel) {
  if (!widens(x.dtype, kernel.x) && !widens(y.dtype, kernel.y)) {
    kernel.row(kernel.op, x.data, y.data, x.count);
    return;
  }
  WidenedPiece piece;
  in_pieces(y, kernel.y, 0, x.count, [&](int64_t first, int64_t n, void* to) {
    kernel.row(kernel.op, read(x, kernel.x, first, n, piece), to, n);
  });
}

void apply_binary(const Input& a, const Input& b, const Output& y, const BinaryKernel& kernel) {
  const RowPlan plan =
      make_row_plan(y.dims, {broadcast_strides(a.dims, y.dims), broadcast_strides(b.dims, y.dims)});
  const int64_t stride_a = plan.stride(0);  // 1, or 0 where it is broadcast: operands are dense
  const int64_t stride_b = plan.stride(1);
  if (!widens(a.dtype, kernel.a) && !widens(b.dtype, kernel.b) && !widens(y.dtype, kernel.y)) {
    const auto wide_a = static_cast<int64_t>(width(a.dtype));
    const auto wide_b = static_cast<int64_t>(width(b.dtype));
    const auto wide_y = static_cast<int64_t>(width(y.dtype));
    for_each_row(plan, [&](int64_t out, const int64_t* at) {
      kernel.row(kernel.op, a.data + at[0] * wide_a, stride_a, b.data + at[1] * wide_b, stride_b,
                 y.data + out * wide_y, plan.row());
    });
    return;
  }
  WidenedPiece piece_a;
  WidenedPiece piece_b;
  for_each_row(plan, [&](int64_t out, const int64_t* at) {
    in_pieces(y, kernel.y, out, plan.row(), [&](int64_t first, int64_t n, void* to) {
      const void* left =
          read(a, kernel.a, at[0] + first * stride_a, stride_a == 0 ? 1 : n, piece_a);
      const void* right =
          read(b, kernel.b, at[1] + first * stride_b, stride_b == 0 ? 1 : n, piece_b);
      kernel.row(kernel.op, left, stride_a, right, stride_b, to, n);
    });
  });
}

}  // namespace sluice::eval
