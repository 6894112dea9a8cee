#include "common/target/multiply_adds.h"

#include <algorithm>

#include "common/ir/fixed.h"
#include "common/ops/attributes.h"
#include "common/target/aicore.h"

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
    default:
      return 0;
  }
}

uint64_t count(const Node& node, TypeOf type_of) {
  if (node.op() != Op::kFused) return of_anchor(node, type_of);
  const Graph* body = node.get(attributes::Fused::body);
  const Node* anchor = body == nullptr ? nullptr : find_anchor(*body);
  return anchor == nullptr ? 0 : of_anchor(*anchor, type_of);
}

}  // namespace

uint64_t count_multiply_adds(const Node& node) { return count(node, own_type); }

uint64_t nominal_multiply_adds(const Node& node) { return count(node, own_nominal_type); }

}  // namespace sluice
