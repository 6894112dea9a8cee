// MatMul and Gemm.
#include <algorithm>
#include <vector>

#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/elementwise.h"
#include "common/eval/kernels.h"
#include "common/eval/matrix.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

template <typename T>
std::vector<T> transposed(const T* from, int64_t rows, int64_t columns) {
  std::vector<T> to(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      to[static_cast<size_t>(j * rows + i)] = from[i * columns + j];
  }
  return to;
}

}  // namespace

Result<MatMulShape> matmul_shape(const EvalCall& call, std::span<const int64_t> a,
                                 std::span<const int64_t> b) {
  MatMulShape shape;
  if (a.empty() || b.empty()) return call.bad_shape("a scalar cannot be multiplied as a matrix");
  shape.a.assign(a.begin(), a.end());
  shape.b.assign(b.begin(), b.end());
  if (a.size() == 1) shape.a.insert(shape.a.begin(), 1);
  if (b.size() == 1) shape.b.push_back(1);
  shape.m = shape.a[shape.a.size() - 2];
  shape.k = shape.a.back();
  shape.n = shape.b.back();
  if (shape.b[shape.b.size() - 2] != shape.k)
    return call.bad_shape("matrices {} and {} do not fit", dims_text(a), dims_text(b));
  shape.a.resize(shape.a.size() - 2);
  shape.b.resize(shape.b.size() - 2);
  const size_t rank = std::max(shape.a.size(), shape.b.size());
  for (size_t i = 0; i < rank; ++i) {
    const size_t from_end = rank - i;
    const int64_t left = from_end <= shape.a.size() ? shape.a[shape.a.size() - from_end] : 1;
    const int64_t right = from_end <= shape.b.size() ? shape.b[shape.b.size() - from_end] : 1;
    if (left != right && left != 1 && right != 1)
      return call.bad_shape("batches of {} and {} cannot be broadcast", dims_text(a), dims_text(b));
    shape.batch.push_back(left == 1 ? right : left);
  }
  shape.y = shape.batch;
  if (a.size() > 1) shape.y.push_back(shape.m);
  if (b.size() > 1) shape.y.push_back(shape.n);
  return shape;
}

void for_each_matrix(const MatMulShape& shape,
                     const std::function<void(int64_t a, int64_t b, int64_t y)>& run) {
  const auto plan = make_row_plan(shape.batch, {broadcast_strides(shape.a, shape.batch),
                                                broadcast_strides(shape.b, shape.batch)});
  for_each_row(plan, [&](int64_t out, const int64_t* at) {
    for (int64_t i = 0; i < plan.row(); ++i)
      run(at[0] + i * plan.stride(0), at[1] + i * plan.stride(1), out + i);
  });
}

Result<void> eval_matmul(EvalCall& call) {
  const Input& a = call.input(0);
  const Input& b = call.input(1);
  if (a.dtype != b.dtype)
    return call.bad_value("inputs have types {} and {}", dtype_name(a.logical),
                          dtype_name(b.logical));
  SLUICE_ASSIGN(const MatMulShape shape, matmul_shape(call, a.dims, b.dims));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  return visit_product(call, a.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::fill_n(y.as<T>(), y.count, T(0));
    for_each_matrix(shape, [&](int64_t at_a, int64_t at_b, int64_t at_y) {
      multiply_add<T>(shape.m, shape.k, shape.n, a.as<T>() + at_a * shape.m * shape.k, shape.k,
                      b.as<T>() + at_b * shape.k * shape.n, shape.n,
                      y.as<T>() + at_y * shape.m * shape.n, shape.n);
    });
    return {};
  });
}

Result<void> eval_gemm(EvalCall& call) {
  const Input& a = call.input(0);
  const Input& b = call.input(1);
  const Input& c = call.input(2);
  if (a.rank() != 2 || b.rank() != 2)
    return call.bad_shape("inputs have ranks {} and {}, expected 2", a.rank(), b.rank());
  const bool turn_a = call.node.get(attributes::Gemm::transA) != 0;
  const bool turn_b = call.node.get(attributes::Gemm::transB) != 0;
  const int64_t m = a.dims[turn_a ? 1 : 0];
  const int64_t k = a.dims[turn_a ? 0 : 1];
  const int64_t n = b.dims[turn_b ? 0 : 1];
  if (b.dims[turn_b ? 1 : 0] != k)
    return call.bad_shape("matrices {} and {} do not fit", dims_text(a.dims), dims_text(b.dims));
  if (a.dtype != b.dtype || (c.present() && c.dtype != a.dtype))
    return call.bad_value("inputs have different types");
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, {m, n}));
  if (c.present() && !broadcasts_to(c.dims, y.dims))
    return call.bad_shape("C {} cannot be broadcast to {}", dims_text(c.dims), dims_text(y.dims));
  const float alpha = call.node.get(attributes::Gemm::alpha);
  const float beta = call.node.get(attributes::Gemm::beta);
  return visit_product(call, a.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::vector<T> turned_a, turned_b;
    if (turn_a) turned_a = transposed(a.as<T>(), k, m);
    if (turn_b) turned_b = transposed(b.as<T>(), n, k);
    std::fill_n(y.as<T>(), y.count, T(0));
    multiply_add<T>(m, k, n, turn_a ? turned_a.data() : a.as<T>(), k,
                    turn_b ? turned_b.data() : b.as<T>(), n, y.as<T>(), n);
    if (alpha != 1.0f)
      std::transform(y.as<T>(), y.as<T>() + y.count, y.as<T>(),
                     [&](T v) { return static_cast<T>(v * static_cast<T>(alpha)); });
    if (!c.present() || beta == 0.0f) return {};
    const Input product{y.dtype, y.dtype, y.dims, y.data, y.count, nullptr};
    const std::vector<T> copy(y.as<T>(), y.as<T>() + y.count);
    Input left = product;
    left.data = reinterpret_cast<const std::byte*>(copy.data());
    const auto f = [scale = static_cast<T>(beta)](T p, T v) {
      return static_cast<T>(p + scale * v);
    };
    apply_binary(left, c, y, {&f, binary_row<T, T, T, decltype(f)>, y.dtype, y.dtype, y.dtype});
    return {};
  });
}

}  // namespace sluice::eval
