#include "stages/optimize/constants.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/base/half.h"
#include "common/ops/attributes.h"
#include "common/target/aicore.h"

namespace sluice {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
T read(const std::vector<std::byte>& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// Returns twice the relative error of rounding to the dtype, for each of two factors.
double rounding(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-9;
    case DType::kBF16:
      return 0x1p-6;
    case DType::kF64:
      return 0x1p-51;
    default:
      return 0x1p-22;
  }
}

template <typename T>
std::vector<std::byte> integer_bytes(double number) {
  return bytes_of(static_cast<T>(number));
}

// Returns the bytes of one element; empty when the dtype cannot be compared here or cannot
// represent the number. f16 and bf16 are compared with 0, -0 and 1 only.
std::vector<std::byte> element_bytes(DType dtype, double number) {
  const bool negative_zero = number == 0 && std::signbit(number);
  const bool is_one = number == 1;
  switch (dtype) {
    case DType::kF32:
      return bytes_of(static_cast<float>(number));
    case DType::kF64:
      return bytes_of(number);
    case DType::kF16:
      if (number != 0 && !is_one) return {};
      return bytes_of(static_cast<uint16_t>(is_one ? 0x3c00 : negative_zero ? 0x8000 : 0));
    case DType::kBF16:
      if (number != 0 && !is_one) return {};
      return bytes_of(static_cast<uint16_t>(is_one ? 0x3f80 : negative_zero ? 0x8000 : 0));
    case DType::kI8:
    case DType::kU8:
      return integer_bytes<int8_t>(number);
    case DType::kI16:
    case DType::kU16:
      return integer_bytes<int16_t>(number);
    case DType::kI32:
    case DType::kU32:
      return integer_bytes<int32_t>(number);
    case DType::kI64:
    case DType::kU64:
      return integer_bytes<int64_t>(number);
    default:
      return {};
  }
}

}  // namespace

bool is_filled_with(const Value& value, double number) {
  if (!value.is_constant()) return false;
  const Segment& segment = value.graph().module().segment(value.segment());
  if (segment.kind != SegmentKind::kSmall && segment.kind != SegmentKind::kSplat) return false;
  const std::vector<std::byte> element = element_bytes(value.type().dtype, number);
  if (element.empty() || segment.data.empty() || segment.data.size() % element.size() != 0)
    return false;
  for (size_t i = 0; i < segment.data.size(); i += element.size()) {
    if (std::memcmp(segment.data.data() + i, element.data(), element.size()) != 0) return false;
  }
  return true;
}

std::optional<double> find_number(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->is_input() ||
      value->type().element_count() != 1)
    return std::nullopt;
  const Segment& segment = value->graph().module().segment(value->segment());
  const DType dtype = value->type().dtype;
  if ((segment.kind != SegmentKind::kSmall && segment.kind != SegmentKind::kSplat) ||
      segment.data.size() * 8 != static_cast<size_t>(dtype_bits(dtype)))
    return std::nullopt;
  switch (dtype) {
    case DType::kF32:
      return read<float>(segment.data);
    case DType::kF64:
      return read<double>(segment.data);
    case DType::kF16:
      return half_to_float(read<uint16_t>(segment.data));
    case DType::kBF16:
      return bf16_to_float(read<uint16_t>(segment.data));
    case DType::kI32:
      return read<int32_t>(segment.data);
    case DType::kI64:
      return static_cast<double>(read<int64_t>(segment.data));
    default:
      return std::nullopt;
  }
}

bool is_close(DType dtype, double number, double expected) {
  return std::abs(number - expected) <= rounding(dtype) * std::abs(expected);
}

bool is_number(const Value* value, double expected) {
  const auto number = find_number(value);
  return number && dtype_is_float(value->type().dtype) &&
         is_close(value->type().dtype, *number, expected);
}

Value& add_one(Graph& graph, DType dtype) {
  Module& module = graph.module();
  return graph.add_constant(
      module.make_constant(module.intern(Type::fixed_tensor(dtype, {})), element_bytes(dtype, 1)));
}

std::optional<std::vector<int64_t>> constant_ints(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->type().dtype != DType::kI64)
    return std::nullopt;
  const Segment& segment = value->graph().module().segment(value->segment());
  const auto count = static_cast<size_t>(value->type().element_count().value_or(0));
  std::vector<int64_t> numbers(count);
  if (segment.kind == SegmentKind::kSmall && segment.data.size() == count * sizeof(int64_t)) {
    if (count > 0) std::memcpy(numbers.data(), segment.data.data(), segment.data.size());
    return numbers;
  }
  if (segment.kind != SegmentKind::kSplat || count > kSmallSegmentBytes) return std::nullopt;
  for (int64_t& number : numbers) std::memcpy(&number, segment.data.data(), sizeof(int64_t));
  return numbers;
}

Value& add_ints(Graph& graph, const std::vector<int64_t>& numbers) {
  Module& module = graph.module();
  std::vector<std::byte> bytes(numbers.size() * sizeof(int64_t));
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  const TypeId type =
      module.intern(Type::fixed_tensor(DType::kI64, {static_cast<int64_t>(numbers.size())}));
  return graph.add_constant(module.make_constant(type, std::move(bytes)));
}

bool is_weight(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->is_input()) return false;
  return is_contraction_dtype(value->type().dtype) && value->type().is_fixed();
}

Value& ConstantExpression::input(SegmentId segment) {
  const auto known = std::find(segments_.begin(), segments_.end(), segment);
  if (known != segments_.end())
    return *graph_.inputs()[static_cast<size_t>(known - segments_.begin())];
  segments_.push_back(segment);
  return graph_.add_input(graph_.module().segment(segment).type);
}

Value& ConstantExpression::number(float value) {
  Module& module = graph_.module();
  return graph_.add_constant(
      module.make_constant(module.intern(Type::fixed_tensor(DType::kF32, {})), bytes_of(value)));
}

Value& ConstantExpression::node_like(Op op, const std::vector<Value*>& operands,
                                     const Value& like) {
  Value& result = graph_.add_node(op, operands).output();
  result.set_type(like.type_id());
  return result;
}

Value& ConstantExpression::node(Op op, const std::vector<Value*>& operands) {
  return node_like(op, operands, *operands[0]);
}

Value& ConstantExpression::reshape(Value& value, const std::vector<int64_t>& extents) {
  Value& result = graph_.add_node(Op::kReshape, {&value, &add_ints(graph_, extents)}).output();
  result.set_type(Type::fixed_tensor(value.type().dtype, extents));
  return result;
}

Value& ConstantExpression::cast(Value& value, DType dtype) {
  if (value.type().dtype == dtype) return value;
  Node& node = graph_.add_node(Op::kCast, {&value});
  node.set(attributes::Cast::to, static_cast<int64_t>(dtype));
  Type type = value.type();
  type.dtype = dtype;
  node.output().set_type(std::move(type));
  return node.output();
}

SegmentId ConstantExpression::finish(Value& result) {
  graph_.add_output(result);
  const TypeId type = result.type_id();
  return graph_.module().make_expression(type, graph_.id(), segments_);
}

}  // namespace sluice
