#include "common/ops/small_constant.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "common/base/float_format.h"
#include "common/ops/infer.h"

namespace sluice {
namespace {

// Floats of 32 bits represent every whole number below 2^24.
constexpr double kWholeLimit = 16777216.0;

template <typename T>
T load(const std::byte* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::optional<int64_t> load_integer(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::kI64:
      return load<int64_t>(from);
    case DType::kI32:
      return load<int32_t>(from);
    case DType::kI16:
      return load<int16_t>(from);
    case DType::kI8:
      return load<int8_t>(from);
    case DType::kU32:
      return load<uint32_t>(from);
    case DType::kU16:
      return load<uint16_t>(from);
    case DType::kU8:
      return load<uint8_t>(from);
    case DType::kBool:
      return load<uint8_t>(from) != 0 ? 1 : 0;
    case DType::kU64: {
      const auto value = load<uint64_t>(from);
      return value <= INT64_MAX ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> load_real(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::kF64:
      return load<double>(from);
    case DType::kF32:
      return load<float>(from);
    case DType::kF16:
      return float_of_bits(*small_float(dtype), load<uint16_t>(from));
    case DType::kBF16:
      return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(from)) << 16);
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return float_of_bits(*small_float(dtype), load<uint8_t>(from));
    default:
      return std::nullopt;
  }
}

// Calls read(bytes of element i) for every element. Returns nothing when the segment is not a small
// constant, or a read fails.
template <typename T, typename Read>
std::optional<std::vector<T>> read_elements(const Module& module, SegmentId id, Read read) {
  const Segment& segment = module.segment(id);
  const Type& type = module.type(segment.type);
  const auto count = type.element_count();
  if (!count || *count > static_cast<int64_t>(ValueFacts::kMaxElements) || type.rank() > 1)
    return std::nullopt;
  if (segment.kind != SegmentKind::kSmall && segment.kind != SegmentKind::kSplat)
    return std::nullopt;
  const size_t size = static_cast<size_t>(dtype_bits(type.dtype)) / 8;
  const size_t stored = segment.kind == SegmentKind::kSplat ? 1 : static_cast<size_t>(*count);
  if (size == 0 || segment.data.size() < size * stored) return std::nullopt;
  std::vector<T> elements;
  for (size_t i = 0; i < static_cast<size_t>(*count); ++i) {
    const auto element = read(type.dtype, segment.data.data() + (stored == 1 ? 0 : i * size));
    if (!element) return std::nullopt;
    elements.push_back(*element);
  }
  return elements;
}

std::optional<int64_t> load_whole(DType dtype, const std::byte* from) {
  if (const auto integer = load_integer(dtype, from)) return integer;
  const auto real = load_real(dtype, from);
  if (!real || std::fabs(*real) >= kWholeLimit || std::trunc(*real) != *real) return std::nullopt;
  return static_cast<int64_t>(*real);
}

}  // namespace

std::optional<std::vector<int64_t>> read_small_integers(const Module& module, SegmentId id) {
  return read_elements<int64_t>(module, id, load_whole);
}

std::optional<std::vector<double>> read_small_reals(const Module& module, SegmentId id) {
  return read_elements<double>(module, id, load_real);
}

bool is_small_scalar(const Value& value) {
  if (!value.is_constant() || value.is_input() || value.type().element_count() != 1) return false;
  return value.graph().module().segment(value.segment()).kind == SegmentKind::kSmall;
}

}  // namespace sluice
