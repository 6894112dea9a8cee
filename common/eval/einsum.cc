// Einsum by its definition, and determinants.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/ops/attributes.h"
#include "common/ops/einsum_equation.h"

namespace sluice::eval {
namespace {

Result<EinsumEquation> parse_equation(const EvalCall& call) {
  const std::string text = call.node.get(attributes::Einsum::equation);
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < call.input_count(); ++i) ranks.push_back(call.input(i).rank());
  auto equation = read_einsum(text, ranks);
  if (!equation) return call.bad_shape("the terms of '{}' do not fit the inputs", text);
  return std::move(*equation);
}

template <typename T>
T determinant(std::vector<T> m, int64_t n) {
  T result = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column; row < n; ++row) {
      if (std::abs(m[static_cast<size_t>(row * n + column)]) >
          std::abs(m[static_cast<size_t>(pivot * n + column)]))
        pivot = row;
    }
    const T head = m[static_cast<size_t>(pivot * n + column)];
    if (head == T(0)) return 0;
    if (pivot != column) {
      for (int64_t k = 0; k < n; ++k)
        std::swap(m[static_cast<size_t>(pivot * n + k)], m[static_cast<size_t>(column * n + k)]);
      result = -result;
    }
    result *= head;
    for (int64_t row = column + 1; row < n; ++row) {
      const T factor = m[static_cast<size_t>(row * n + column)] / head;
      for (int64_t k = column; k < n; ++k)
        m[static_cast<size_t>(row * n + k)] -= factor * m[static_cast<size_t>(column * n + k)];
    }
  }
  return result;
}

}  // namespace

Result<void> eval_einsum(EvalCall& call) {
  SLUICE_ASSIGN(const EinsumEquation equation, parse_equation(call));
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    for (size_t axis = 0; axis < equation.operands[i].size(); ++axis) {
      int64_t& extent = extents.emplace(equation.operands[i][axis], 1).first->second;
      const int64_t dim = call.input(i).dims[axis];
      if (dim != extent && dim != 1 && extent != 1)
        return call.bad_shape("extents {} and {} of one subscript differ", extent, dim);
      if (extent == 1) extent = dim;
    }
  }
  std::string letters = equation.result;
  std::vector<int64_t> dims, loop;
  for (const char letter : letters) {
    if (!extents.contains(letter))
      return call.bad_value("the result has a subscript that no input has");
    dims.push_back(extents[letter]);
  }
  for (const auto& [letter, extent] : extents) {
    if (equation.result.find(letter) == std::string::npos) letters += letter;
  }
  for (const char letter : letters) loop.push_back(extents[letter]);
  const int64_t inner = product(std::span<const int64_t>(loop).subspan(dims.size()));
  std::vector<std::vector<int64_t>> strides(call.input_count(),
                                            std::vector<int64_t>(letters.size(), 0));
  for (size_t i = 0; i < strides.size(); ++i) {
    const auto dense = dense_strides(call.input(i).dims);
    for (size_t axis = 0; axis < dense.size(); ++axis) {
      if (call.input(i).dims[axis] != 1)
        strides[i][letters.find(equation.operands[i][axis])] += dense[axis];
    }
    if (call.input(i).dtype != call.input(0).dtype)
      return call.bad_value("inputs have different types");
  }
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  return visit_product(call, y.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::vector<int64_t> index(letters.size(), 0);
    std::vector<int64_t> at(call.input_count(), 0);
    for (int64_t out = 0; out < y.count; ++out) {
      T sum = 0;
      for (int64_t step = 0; step < inner; ++step) {
        T term = 1;
        for (size_t i = 0; i < at.size(); ++i) term *= call.input(i).as<T>()[at[i]];
        sum += term;
        for (size_t axis = letters.size(); axis-- > 0;) {
          for (size_t i = 0; i < at.size(); ++i) at[i] += strides[i][axis];
          if (++index[axis] < loop[axis]) break;
          for (size_t i = 0; i < at.size(); ++i) at[i] -= strides[i][axis] * loop[axis];
          index[axis] = 0;
        }
      }
      y.as<T>()[out] = sum;
    }
    return {};
  });
}

Result<void> eval_det(EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() < 2 || x.dims.back() != x.dims[x.dims.size() - 2])
    return call.bad_shape("{} holds no square matrices", dims_text(x.dims));
  const int64_t n = x.dims.back();
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, {x.dims.begin(), x.dims.end() - 2}));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t i = 0; i < y.count; ++i)
      y.as<T>()[i] = static_cast<T>(
          determinant(std::vector<double>(x.as<T>() + i * n * n, x.as<T>() + (i + 1) * n * n), n));
    return {};
  });
}

}  // namespace sluice::eval
