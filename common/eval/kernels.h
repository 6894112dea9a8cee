// The kernels, declared from their table: Result<void> eval_add(EvalCall&) …, and the common parts
// of the families.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "common/eval/call.h"

namespace sluice::eval {

#define SLUICE_KERNEL(op, function, promotion) Result<void> eval_##function(EvalCall& call);
#include "common/eval/kernels.def"
#undef SLUICE_KERNEL

// A product of matrices with numpy's rules for vectors and batches.
struct MatMulShape {
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
  std::vector<int64_t> a;  // batch dims of the operands
  std::vector<int64_t> b;
  std::vector<int64_t> batch;  // broadcast
  std::vector<int64_t> y;      // dims of the result
};
Result<MatMulShape> matmul_shape(const EvalCall& call, std::span<const int64_t> a,
                                 std::span<const int64_t> b);
// Calls run(matrix of a, matrix of b, matrix of y) for every matrix of the batch.
void for_each_matrix(const MatMulShape& shape,
                     const std::function<void(int64_t a, int64_t b, int64_t y)>& run);

}  // namespace sluice::eval
