// Inverses of square matrices, by elimination in f64:
//
//   for columns: the row with the largest element there becomes the pivot's
//                for all other rows: subtract the pivot's, so that the column is zero
//
// The pivot of a singular matrix is zero: its inverse gets infinities and NaNs.
#include <algorithm>
#include <cmath>
#include <vector>

#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"

namespace sluice::eval {
namespace {

// A matrix and the identity beside it, which becomes the inverse while the matrix becomes the
// identity.
class Elimination {
 public:
  template <typename T>
  Elimination(const T* matrix, size_t size) : size_(size), rows_(size) {
    for (size_t i = 0; i < size; ++i) {
      rows_[i].assign(matrix + i * size, matrix + (i + 1) * size);
      rows_[i].resize(2 * size);
      rows_[i][size + i] = 1;
    }
  }

  template <typename T>
  void write_inverse(T* inverse) {
    for (size_t column = 0; column < size_; ++column) eliminate(column);
    for (const std::vector<double>& row : rows_)
      inverse = std::transform(row.begin() + static_cast<std::ptrdiff_t>(size_), row.end(), inverse,
                               [](double x) { return static_cast<T>(x); });
  }

 private:
  void eliminate(size_t column) {
    const auto pivot = std::max_element(
        rows_.begin() + static_cast<std::ptrdiff_t>(column), rows_.end(),
        [&](const auto& a, const auto& b) { return std::abs(a[column]) < std::abs(b[column]); });
    std::swap(rows_[column], *pivot);
    const double divisor = rows_[column][column];
    for (double& x : rows_[column]) x /= divisor;
    for (size_t i = 0; i < size_; ++i) {
      if (i == column) continue;
      const double factor = rows_[i][column];
      for (size_t k = column; k < 2 * size_; ++k) rows_[i][k] -= factor * rows_[column][k];
    }
  }

  size_t size_;
  std::vector<std::vector<double>> rows_;
};

}  // namespace

Result<void> eval_inverse(EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() < 2 || x.dims.back() != x.dims[x.dims.size() - 2])
    return call.bad_shape("{} holds no square matrices", dims_text(x.dims));
  const int64_t size = x.dims.back(), elements = size * size;
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, {x.dims.begin(), x.dims.end()}));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t at = 0; at < y.count; at += elements)
      Elimination(x.as<T>() + at, static_cast<size_t>(size)).write_inverse(y.as<T>() + at);
    return {};
  });
}

}  // namespace sluice::eval
