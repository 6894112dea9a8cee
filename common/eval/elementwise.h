// Elementwise ops as kernels over rows. A row is compiled once per op and class of element types:
// f32, f64, i64, and u64 where the sign matters. Narrower integers go through rows of i64, one
// piece at a time, which is exact, since results are taken modulo 2^bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/eval/call.h"

namespace sluice::eval {

// Computes y[0, n) from rows of operands; strides are 1 or 0. `op` is the op of the kernel.
using UnaryRow = void (*)(const void* op, const void* x, void* y, int64_t n);
using BinaryRow = void (*)(const void* op, const void* a, int64_t stride_a, const void* b,
                           int64_t stride_b, void* y, int64_t n);

// A row and its types: those that `row` reads and writes are the tensors' own, others of the same
// width, or kI64 for narrower integers.
struct UnaryKernel {
  const void* op = nullptr;
  UnaryRow row = nullptr;
  DType x = DType::kUndefined;
  DType y = DType::kUndefined;
};
struct BinaryKernel {
  const void* op = nullptr;
  BinaryRow row = nullptr;
  DType a = DType::kUndefined;
  DType b = DType::kUndefined;
  DType y = DType::kUndefined;
};

// Computes y = op(x), with equal dims.
void apply_unary(const Input& x, const Output& y, const UnaryKernel& kernel);
// Computes y = op(a, b) with broadcasting.
void apply_binary(const Input& a, const Input& b, const Output& y, const BinaryKernel& kernel);

// Returns the class of an element type: kF32, kF64, kU64, kI64 for the other integers, kUndefined
// for types that are not numbers.
DType number_class(DType dtype);

template <typename T, typename R, typename F>
void unary_row(const void* op, const void* x, void* y, int64_t n) {
  const F f = *static_cast<const F*>(op);
  const T* __restrict from = static_cast<const T*>(x);
  R* __restrict to = static_cast<R*>(y);
  for (int64_t i = 0; i < n; ++i) to[i] = f(from[i]);
}

template <typename A, typename B, typename R, typename F>
void binary_row(const void* op, const void* a, int64_t stride_a, const void* b, int64_t stride_b,
                void* y, int64_t n) {
  const F f = *static_cast<const F*>(op);
  const A* __restrict left = static_cast<const A*>(a);
  const B* __restrict right = static_cast<const B*>(b);
  R* __restrict result = static_cast<R*>(y);
  if (stride_a == 1 && stride_b == 1) {
    for (int64_t i = 0; i < n; ++i) result[i] = f(left[i], right[i]);
  } else if (stride_a == 1) {
    for (int64_t i = 0; i < n; ++i) result[i] = f(left[i], right[0]);
  } else if (stride_b == 1) {
    for (int64_t i = 0; i < n; ++i) result[i] = f(left[0], right[i]);
  } else {
    std::fill_n(result, n, f(left[0], right[0]));
  }
}

}  // namespace sluice::eval
