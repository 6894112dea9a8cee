#include "common/pass/number.h"

#include <cmath>
#include <cstring>

#include "common/base/half.h"

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

}  // namespace

std::vector<std::byte> number_bytes(DType dtype, double number) {
  switch (dtype) {
    case DType::kF32:
      return bytes_of(static_cast<float>(number));
    case DType::kF64:
      return bytes_of(number);
    case DType::kF16:
      return bytes_of(float_to_half(static_cast<float>(number)));
    case DType::kBF16:
      return bytes_of(float_to_bf16(static_cast<float>(number)));
    case DType::kI8:
    case DType::kU8:
      return bytes_of(static_cast<int8_t>(number));
    case DType::kI16:
    case DType::kU16:
      return bytes_of(static_cast<int16_t>(number));
    case DType::kI32:
    case DType::kU32:
      return bytes_of(static_cast<int32_t>(number));
    case DType::kI64:
    case DType::kU64:
      return bytes_of(static_cast<int64_t>(number));
    default:
      return {};
  }
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

Value* add_number(Graph& graph, DType dtype, double number) {
  std::vector<std::byte> bytes = number_bytes(dtype, number);
  if (bytes.empty()) return nullptr;
  Module& module = graph.module();
  const TypeId type = module.intern(Type::fixed_tensor(dtype, {}));
  return &graph.add_constant(module.make_constant(type, std::move(bytes)));
}

Value& add_ints(Graph& graph, const std::vector<int64_t>& numbers) {
  Module& module = graph.module();
  std::vector<std::byte> bytes(numbers.size() * sizeof(int64_t));
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  const TypeId type =
      module.intern(Type::fixed_tensor(DType::kI64, {static_cast<int64_t>(numbers.size())}));
  return graph.add_constant(module.make_constant(type, std::move(bytes)));
}

}  // namespace sluice
