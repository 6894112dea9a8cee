// The product of two dense matrices, which MatMul, Gemm, Conv and the recurrent ops share.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::eval {

// Computes c[m, n] += a[m, k] * b[k, n], all row-major with the given distances between rows. Every
// element of c sums over k in order, so the result does not depend on blocking. Each row of b is
// read once for four rows of c.
template <typename T>
void multiply_add(int64_t m, int64_t k, int64_t n, const T* a, int64_t row_a, const T* b,
                  int64_t row_b, T* c, int64_t row_c) {
  constexpr int64_t kBlock = 256;
  for (int64_t j0 = 0; j0 < n; j0 += kBlock) {
    const int64_t width = std::min(kBlock, n - j0);
    int64_t i = 0;
    for (; i + 4 <= m; i += 4) {
      T* __restrict c0 = c + i * row_c + j0;
      T* __restrict c1 = c0 + row_c;
      T* __restrict c2 = c1 + row_c;
      T* __restrict c3 = c2 + row_c;
      for (int64_t p = 0; p < k; ++p) {
        const T* __restrict row = b + p * row_b + j0;
        const T a0 = a[i * row_a + p];
        const T a1 = a[(i + 1) * row_a + p];
        const T a2 = a[(i + 2) * row_a + p];
        const T a3 = a[(i + 3) * row_a + p];
        for (int64_t j = 0; j < width; ++j) {
          c0[j] += a0 * row[j];
          c1[j] += a1 * row[j];
          c2[j] += a2 * row[j];
          c3[j] += a3 * row[j];
        }
      }
    }
    for (; i < m; ++i) {
      T* __restrict row_of_c = c + i * row_c + j0;
      for (int64_t p = 0; p < k; ++p) {
        const T* __restrict row = b + p * row_b + j0;
        const T factor = a[i * row_a + p];
        for (int64_t j = 0; j < width; ++j) row_of_c[j] += factor * row[j];
      }
    }
  }
}

}  // namespace sluice::eval
