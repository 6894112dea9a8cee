#include "common/target/multiply_adds.h"

#include <algorithm>

#include "common/ir/fixed.h"
#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "common/target/recurrent.h"

namespace sluice {
namespace {

uint64_t elements(const Type& type) {
  return static_cast<uint64_t>(type.element_count().value_or(0));
}

uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

// Returns the type used for an operand or result.
using TypeOf = Type (*)(const Value&);

Type own_type(const Value& value) { return value.type(); }
Type own_nominal_type(const Value& value) {
  return nominal_type(value.graph().module(), value.type());
}

// Counts the products of all steps with W and R, or with R alone. For each input row, every row of
// a weight gives one sum.
uint64_t of_cell(const Node& node, TypeOf type_of, bool counts_input) {
  const Type x = type_of(*node.input(0)), r = type_of(*node.input(2));
  const std::vector<int64_t> x_dims = x.extents().value_or(std::vector<int64_t>{});
  if (x_dims.size() != 3 || !r.extents()) return 0;
  const auto rows = product(static_cast<uint64_t>(x_dims[0]), static_cast<uint64_t>(x_dims[1]));
  const uint64_t recurrent = product(rows, elements(r));
  if (!counts_input) return recurrent;
  const uint64_t input = product(rows, elements(type_of(*node.input(1))));
  return input > UINT64_MAX - recurrent ? UINT64_MAX : input + recurrent;
}

// Counts the products of queries and keys, and those of their weights and values.
uint64_t of_attention(const Node& node, TypeOf type_of) {
  const auto length = [&](size_t input, size_t axis) -> uint64_t {
    if (node.input(input) == nullptr) return 0;
    const std::vector<int64_t> dims =
        type_of(*node.input(input)).extents().value_or(std::vector<int64_t>{});
    return axis < dims.size() ? static_cast<uint64_t>(dims[axis]) : 0;
  };
  const uint64_t keys = length(1, node.input(1)->type().rank() == 3 ? 1 : 2) + length(4, 2);
  return product(elements(type_of(*node.input(0))) + elements(type_of(node.output())), keys);
}

// Counts one contraction: elements of the result times the length of the sum for each.
uint64_t of_anchor(const Node& node, TypeOf type_of) {
  const size_t second = node.op() == Op::kQLinearConv ? 3 : 1;
  const Type weight = type_of(node.input(second) != nullptr ? *node.input(second) : node.output());
  const std::vector<int64_t> w = weight.extents().value_or(std::vector<int64_t>{});
  switch (node.op()) {
    case Op::kConvInteger:
    case Op::kQLinearConv:
    case Op::kConv:  // each result sums over [ci / groups, kernel...]
      return w.empty() || w[0] == 0 ? 0
                                    : product(elements(type_of(node.output())),
                                              elements(weight) / static_cast<uint64_t>(w[0]));
    case Op::kConvTranspose:  // each input element goes to [co / groups, kernel...]
      return w.empty() || w[0] == 0 ? 0
                                    : product(elements(type_of(*node.input(0))),
                                              elements(weight) / static_cast<uint64_t>(w[0]));
    case Op::kMatMulInteger:
    case Op::kQLinearMatMul:
    case Op::kMatMul: {
      const std::vector<int64_t> a =
          type_of(*node.input(0)).extents().value_or(std::vector<int64_t>{});
      return a.empty() ? 0
                       : product(elements(type_of(node.output())), static_cast<uint64_t>(a.back()));
    }
    case Op::kGemm: {
      const std::vector<int64_t> a =
          type_of(*node.input(0)).extents().value_or(std::vector<int64_t>{});
      if (a.size() != 2) return 0;
      return product(elements(type_of(node.output())),
                     static_cast<uint64_t>(node.get(attributes::Gemm::transA) != 0 ? a[0] : a[1]));
    }
    case Op::kAttention:
      return of_attention(node, type_of);
    default:
      return 0;
  }
}

// A cell in a body reads products with W that another node has made.
uint64_t count(const Node& node, TypeOf type_of) {
  if (is_recurrent(node.op())) return of_cell(node, type_of, true);
  if (node.op() != Op::kFused) return of_anchor(node, type_of);
  const Graph* body = node.get(attributes::Fused::body);
  if (body == nullptr) return 0;
  if (const Node* cell = find_recurrent(*body)) return of_cell(*cell, type_of, false);
  const Node* anchor = find_anchor(*body);
  return anchor == nullptr ? 0 : of_anchor(*anchor, type_of);
}

}  // namespace

uint64_t count_multiply_adds(const Node& node) { return count(node, own_type); }

uint64_t nominal_multiply_adds(const Node& node) { return count(node, own_nominal_type); }

}  // namespace sluice
