// The interface of an op's infer function: one node, the known facts about its inputs, and the
// functions that set its outputs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ops/dim_math.h"
#include "common/ops/infer.h"

namespace sluice {

// Sets of dtypes, for checks.
constexpr uint32_t dtype_set(std::initializer_list<DType> dtypes) {
  uint32_t set = 0;
  for (const DType dtype : dtypes) set |= uint32_t{1} << static_cast<int>(dtype);
  return set;
}
inline constexpr uint32_t kFloatSet =
    dtype_set({DType::kF16, DType::kBF16, DType::kF32, DType::kF64});
inline constexpr uint32_t kSignedSet =
    dtype_set({DType::kI8, DType::kI16, DType::kI32, DType::kI64});
inline constexpr uint32_t kUnsignedSet =
    dtype_set({DType::kU8, DType::kU16, DType::kU32, DType::kU64});
inline constexpr uint32_t kIntegerSet = kSignedSet | kUnsignedSet;
inline constexpr uint32_t kNumericSet = kFloatSet | kIntegerSet;
inline constexpr uint32_t kIndexSet = dtype_set({DType::kI32, DType::kI64});
inline constexpr uint32_t kI64Set = dtype_set({DType::kI64});
inline constexpr uint32_t kBoolSet = dtype_set({DType::kBool});
// Dtypes that can be read as a number.
inline constexpr uint32_t kRealSet = ~dtype_set({DType::kString, DType::kC64, DType::kC128});
inline constexpr uint32_t kAnySet = ~uint32_t{0};

class InferCall {
 public:
  // body_depth is the number of bodies around this node that are being inferred because of one
  // another.
  InferCall(Node& node, ValueFacts& facts, int body_depth = 0);

  Node& node;
  ValueFacts& facts;
  Module& module;
  DimMath math;
  int body_depth;
  bool changed = false;

  // Inputs. Indices beyond the last input are absent inputs.
  size_t input_count() const { return node.input_count(); }
  bool has_input(size_t index) const { return node.input(index) != nullptr; }
  const Type& input_type(size_t index) const;  // the unknown type when absent
  DType dtype(size_t index) const;             // kUndefined when not known
  Shape shape(size_t index) const;             // nothing when the rank is not known
  Dim dim(size_t index, size_t axis) const;    // unknown when the rank is not known
  std::string input_name(size_t index) const;  // "input 'W'"

  // Checks. Unknown facts pass.
  Result<void> expect_dtype(size_t index, uint32_t set) const;
  Result<void> expect_same_dtype(size_t index, size_t other) const;
  Result<void> expect_rank(size_t index, int64_t rank) const {
    return expect_rank(index, rank, rank);
  }
  Result<void> expect_rank(size_t index, int64_t low, int64_t high) const;
  Result<void> expect_one_element(size_t index) const;  // rank 0, or rank 1 with one element
  // Unifies dims that must be equal and returns the more specific one; where only a run can compare
  // them, they become a requirement of the module. what: "channels of input 'X' and input 'W'".
  Result<Dim> unify(const Dim& a, const Dim& b, std::string_view what);
  Result<Shape> unify(const Shape& a, const Shape& b, std::string_view what);
  // Expect a dim to be a multiple of another, or at most another, in a run where the dims are
  // known there only. Raise no divisors of symbols. what: "channels".
  Result<void> expect_multiple(const Dim& dim, const Dim& divisor, std::string_view what);
  Result<void> expect_multiple(const Dim& dim, int64_t divisor, std::string_view what) {
    return expect_multiple(dim, Dim::fixed(divisor), what);
  }
  Result<void> expect_max(const Dim& dim, const Dim& high, std::string_view what);
  // Expects a dim to be at least `low`, by raising the lows of symbols where that is equivalent. Of
  // a node of a body, which might never run with such sizes, nothing is expected.
  Result<void> expect_min(const Dim& dim, int64_t low, std::string_view what);
  // Makes the equality of two dims, which was not disproved, a requirement where it is not proved.
  void require_equal(const Dim& a, const Dim& b, std::string_view what);
  Result<Shape> broadcast(const Shape& a, const Shape& b);
  Result<Shape> broadcast_inputs(size_t first, size_t count);

  // Returns an axis as a number from 0 to rank - 1 (also rank itself when `end` is set).
  Result<int64_t> axis(int64_t axis, int64_t rank, bool end = false) const;
  Result<int64_t> axis_attribute(const IntAttribute& attribute, int64_t rank,
                                 bool end = false) const;
  // Returns axes without repetition, in their order.
  Result<std::vector<int64_t>> axes(std::span<const int64_t> axes, int64_t rank) const;
  // Returns an attribute of `count` integers, each at least `low`, or `count` times `fallback` when
  // it is absent.
  Result<std::vector<int64_t>> ints(const IntsAttribute& attribute, size_t count,
                                    int64_t low) const;

  // Values of inputs, where known.
  const std::vector<ExpressionId>* value(size_t index) {
    return has_input(index) ? facts.find(*node.input(index)) : nullptr;
  }
  std::optional<Dims> value_dims(size_t index);  // the same as dims, which may be negative
  std::optional<std::vector<int64_t>> integers(size_t index);  // every element a number
  // For a small constant of float dtype.
  std::optional<std::vector<double>> reals(size_t index) const;

  // Outputs. Calls for an output that the node does not have are ignored.
  Result<void> give(size_t index, DType dtype, Shape shape);
  Result<void> give_type(size_t index, const Type& type);
  Result<void> give_like(size_t index, size_t input) {
    return give(index, dtype(input), shape(input));
  }
  // Returns a dim that only running the node determines: a symbol of the result (the existing one,
  // if any), from low to high.
  Dim result_dim(size_t output, size_t axis, const Dim& high = Dim::unknown(), int64_t low = 0);

  template <typename... Args>
  Error bad_shape(fmt::format_string<Args...> format, Args&&... args) const {
    return make_error(ErrorCode::kBadShape, "{}: {}", node.label(),
                      fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  Error bad_node(fmt::format_string<Args...> format, Args&&... args) const {
    return make_error(ErrorCode::kBadNode, "{}: {}", node.label(),
                      fmt::format(format, std::forward<Args>(args)...));
  }
};

// Refines the type of `value` by `found`, or returns the contradiction as an error; dims that only
// a run can compare become requirements. Sets `changed` when the type changed.
Result<void> refine_value(Value& value, const Type& found, const std::string& where, bool& changed);
// Returns a shape of `rank` unknown dims, or of unknown rank when `rank` is unknown or above
// kMaxRank.
Shape unknown_dims(const Dim& rank);
inline constexpr int64_t kMaxRank = 64;
// Expects indices (input 1) of as many dims as the data, none larger but for that of `axis`.
Result<void> expect_within(InferCall& call, const Dims& data, int64_t axis);
inline int64_t rank_of(const Dims& dims) { return static_cast<int64_t>(dims.size()); }
// Returns the dims without those of `axes` (non-negative), or with these as 1.
Dims without_axes(const Dims& dims, std::span<const int64_t> axes, bool keep_as_one);

}  // namespace sluice
