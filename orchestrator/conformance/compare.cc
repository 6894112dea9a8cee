#include "orchestrator/conformance/compare.h"

#include <algorithm>
#include <cmath>

#include "common/base/json.h"
#include "orchestrator/conformance/elements.h"
#include "orchestrator/conformance/key_order.h"

namespace sluice {
namespace {

constexpr double kSmallestNormal = 0x1p-126;

double flushed(double x) { return std::fabs(x) < kSmallestNormal ? 0.0 : x; }

bool is_close(double a, double b, const Tolerance& tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(flushed(a) - flushed(b)) <=
         tolerance.atol + tolerance.rtol * std::fabs(flushed(b));
}

// Returns "[1,0,3]"; for a part of a complex number the index of its element.
std::string index_text(const Tensor& tensor, uint64_t element) {
  std::string text;
  for (size_t axis = tensor.dims.size(); axis-- > 0;) {
    const uint64_t extent = static_cast<uint64_t>(tensor.dims[axis]);
    text = std::to_string(element % extent) + (text.empty() ? "" : ",") + text;
    element /= extent;
  }
  return "[" + text + "]";
}

Comparison compare_texts(const Tensor& actual, const Tensor& expected) {
  for (uint64_t i = 0, count = *element_count(expected.dims); i < count; ++i) {
    const std::string_view a = string_at(actual, i), b = string_at(expected, i);
    if (a != b)
      return {false,
              fmt::format("element {} is \"{}\", expected \"{}\"", index_text(expected, i), a, b),
              0};
  }
  return {true, {}, 0};
}

Comparison compare_numbers(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                           bool exact) {
  const std::vector<double> a = elements_as_double(actual), b = elements_as_double(expected);
  const uint64_t parts = expected.dtype == DType::kC64 || expected.dtype == DType::kC128 ? 2 : 1;
  // Integers beyond 2^53 may be equal as float64 and yet different, so their bytes decide.
  const size_t width = static_cast<size_t>(dtype_bits(expected.dtype)) / 8;
  const auto is_equal = [&](size_t i) {
    if (!exact) return is_close(a[i], b[i], tolerance);
    return width == 0 ? a[i] == b[i]
                      : std::equal(actual.bytes.begin() + i * width,
                                   actual.bytes.begin() + (i + 1) * width,
                                   expected.bytes.begin() + i * width);
  };
  Comparison result{true, {}, 0};
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i])) {
      const double error = std::fabs(flushed(a[i]) - flushed(b[i]));
      const double unit = unit_in_last_place(expected.dtype, b[i]);
      result.max_error = std::max(result.max_error, error);
      if (unit > 0) result.max_ulp = std::max(result.max_ulp, error / unit);
    }
    if (is_equal(i)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return result;
  result.equal = false;
  result.reason = fmt::format(
      "element {} is {:.9g}, expected {:.9g}; {} of {} differ, max |a-b| {:.3g}",
      index_text(expected, first / parts), a[first], b[first], wrong, b.size(), result.max_error);
  return result;
}

Result<std::vector<double>> numbers_of(const Json& json, std::string_view key, size_t outputs,
                                       double fallback) {
  const Json* value = json.find(key);
  if (value == nullptr) return std::vector<double>(outputs, fallback);
  if (const std::optional<double> one = value->number()) return std::vector<double>(outputs, *one);
  std::vector<double> numbers;
  if (const Json::Array* list = value->as_array();
      list != nullptr && (list->size() == outputs || list->size() == 1)) {
    for (const Json& item : *list) {
      if (const std::optional<double> number = item.number()) numbers.push_back(*number);
    }
    if (numbers.size() == 1) numbers.resize(outputs, numbers[0]);
  }
  if (numbers.size() != outputs)
    return make_error(ErrorCode::kBadJson, "'{}' must be a number or one for each of {} outputs",
                      key, outputs);
  return numbers;
}

}  // namespace

Result<std::vector<Tolerance>> parse_tolerances(std::string_view text, size_t outputs) {
  SLUICE_ASSIGN(const Json json, json_parse(text));
  if (json.as_object() == nullptr)
    return make_error(ErrorCode::kBadJson, "the file must hold an object with rtol and atol");
  const Tolerance standard;
  SLUICE_ASSIGN(const std::vector<double> rtol, numbers_of(json, "rtol", outputs, standard.rtol));
  SLUICE_ASSIGN(const std::vector<double> atol, numbers_of(json, "atol", outputs, standard.atol));
  std::vector<Tolerance> tolerances;
  for (size_t i = 0; i < outputs; ++i) tolerances.push_back({rtol[i], atol[i], true});
  return tolerances;
}

Comparison compare(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  if (actual.dtype != expected.dtype) {
    return {false,
            fmt::format("the dtype is {}, expected {}", dtype_name(actual.dtype),
                        dtype_name(expected.dtype)),
            0};
  }
  if (actual.dims != expected.dims) {
    return {false,
            fmt::format("the shape is {}, expected {}", dims_text(actual.dims),
                        dims_text(expected.dims)),
            0};
  }
  if (!is_consistent(actual) || !is_consistent(expected))
    return {false, "a tensor's bytes do not fit its shape", 0};
  if (expected.dtype == DType::kString) return compare_texts(actual, expected);
  const bool inexact = dtype_is_float(expected.dtype) || expected.dtype == DType::kC64 ||
                       expected.dtype == DType::kC128;
  return compare_numbers(actual, expected, tolerance, !inexact && !tolerance.given);
}

namespace {

std::string value_text(const FileValue& value) {
  if (!value.present) return "nothing";
  if (holds_maps(value)) return fmt::format("{} maps", value.tensors.size() / 2);
  const bool is_sequence =
      value.kind == ValueKind::kSequence || value.element == ValueKind::kSequence;
  return is_sequence ? fmt::format("a sequence of {}", value.tensors.size()) : "a tensor";
}

std::string place_text(size_t i, bool are_maps) {
  return are_maps ? fmt::format("{} of map {}", i % 2 == 0 ? "keys" : "values", i / 2)
                  : fmt::format("element {}", i);
}

Comparison compare_tensors(std::span<const Tensor> actual, std::span<const Tensor> expected,
                           const Tolerance& tolerance, bool are_maps) {
  Comparison whole{true, {}, 0};
  for (size_t i = 0; i < actual.size() && whole.equal; ++i) {
    const Comparison one = compare(actual[i], expected[i], tolerance);
    whole.max_error = std::max(whole.max_error, one.max_error);
    whole.max_ulp = std::max(whole.max_ulp, one.max_ulp);
    whole.equal = one.equal;
    if (!one.equal)
      whole.reason = actual.size() == 1
                         ? one.reason
                         : fmt::format("{}: {}", place_text(i, are_maps), one.reason);
  }
  return whole;
}

}  // namespace

Comparison compare(const FileValue& actual, const FileValue& expected, const Tolerance& tolerance) {
  if (actual.present != expected.present || actual.element != expected.element ||
      actual.tensors.size() != expected.tensors.size()) {
    return {false, fmt::format("got {}, expected {}", value_text(actual), value_text(expected)), 0};
  }
  if (!holds_maps(expected))
    return compare_tensors(actual.tensors, expected.tensors, tolerance, false);
  return compare_tensors(in_key_order(actual.tensors), in_key_order(expected.tensors), tolerance,
                         true);
}

}  // namespace sluice
