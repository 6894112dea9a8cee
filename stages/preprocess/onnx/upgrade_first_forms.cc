#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/old_attributes.h"
#include "stages/preprocess/onnx/upgrade_forms.h"

namespace sluice {
namespace {

// Names of dtypes as in onnx.proto.
struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr DTypeName kDTypes[] = {
    {"FLOAT", DType::kF32},   {"UINT8", DType::kU8},      {"INT8", DType::kI8},
    {"UINT16", DType::kU16},  {"INT16", DType::kI16},     {"INT32", DType::kI32},
    {"INT64", DType::kI64},   {"STRING", DType::kString}, {"BOOL", DType::kBool},
    {"FLOAT16", DType::kF16}, {"DOUBLE", DType::kF64},    {"UINT32", DType::kU32},
    {"UINT64", DType::kU64},  {"COMPLEX64", DType::kC64}, {"COMPLEX128", DType::kC128},
};

Error bad_attribute(const UpgradeCall& call, std::string_view name, std::string_view expected) {
  return make_error(ErrorCode::kBadModel, "{}: attribute '{}' is not {}", call.node->label(), name,
                    expected);
}

template <typename T>
double first_as(std::span<const std::byte> bytes) {
  T element{};
  std::memcpy(&element, bytes.data(), sizeof(T));
  return static_cast<double>(element);
}

// Returns the number of a constant with one element; nothing for other values and dtypes.
Result<std::optional<double>> constant_number(const UpgradeCall& call, const Value& value) {
  if (!value.is_constant() || value.type().element_count() != std::optional<int64_t>(1))
    return std::optional<double>();
  const Segment& segment = call.graph.module().segment(value.segment());
  std::span<const std::byte> bytes = segment.data;
  if (segment.kind == SegmentKind::kBytes) {
    SLUICE_ASSIGN(bytes, call.graph.module().bytes(value.segment()));
  }
  const DType dtype = value.type().dtype;
  if (dtype == DType::kF32) return std::optional(first_as<float>(bytes));
  if (dtype == DType::kF64) return std::optional(first_as<double>(bytes));
  if (dtype == DType::kI32) return std::optional(first_as<int32_t>(bytes));
  if (dtype == DType::kI64) return std::optional(first_as<int64_t>(bytes));
  return std::optional<double>();
}

// Checks, where `value` is a constant, that it is a whole number from 0 to `maximum`.
Result<void> check_whole(const UpgradeCall& call, size_t input, std::string_view name,
                         double maximum) {
  SLUICE_ASSIGN(const std::optional<double> number,
                constant_number(call, *call.node->input(input)));
  if (!number || (*number >= 0 && *number <= maximum && *number == std::floor(*number))) return {};
  return make_error(ErrorCode::kBadModel,
                    "{}: input '{}' is {}, expected a whole number from 0 to {}",
                    call.node->label(), name, *number, maximum);
}

Value* cast_to_i64(UpgradeCall& call, Value* value) {
  Value* cast = call.add_before(Op::kCast, {value});
  cast->producer()->set(attributes::Cast::to, static_cast<int64_t>(DType::kI64));
  return cast;
}

Value* reshape_to(UpgradeCall& call, Value* value, std::vector<int64_t> dims) {
  return call.add_before(Op::kReshape, {value, call.constant(std::move(dims))});
}

}  // namespace

Result<void> cast_by_name(UpgradeCall& call) {
  const std::string name = call.node->get(old_attributes::cast_to);
  const auto* known = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                   [&](const DTypeName& row) { return row.name == name; });
  if (known == std::end(kDTypes)) {
    return make_error(ErrorCode::kBadModel,
                      "{}: attribute 'to' is '{}', expected the name of a dtype, such as FLOAT",
                      call.node->label(), name);
  }
  call.node->set(attributes::Cast::to, static_cast<int64_t>(known->dtype));
  return {};
}

Result<void> concat_axis(UpgradeCall& call) {
  if (!call.node->has(attributes::Concat::axis))
    call.node->set(attributes::Concat::axis, int64_t{1});
  return {};
}

Result<void> float_power(UpgradeCall& call) {
  const AttributeValue* found = call.node->find_attribute(attributes::LpPool::p.name);
  const auto* power = found == nullptr ? nullptr : std::get_if<float>(found);
  if (power == nullptr) return {};
  const float number = *power;
  if (number != std::floor(number) || number < 1 || number > 1e6F)
    return bad_attribute(call, "p", "a whole number from 1");
  call.node->set(attributes::LpPool::p, static_cast<int64_t>(number));
  return {};
}

Result<void> pad_paddings(UpgradeCall& call) {
  const std::vector<int64_t> paddings = call.node->get(old_attributes::paddings);
  call.node->remove(old_attributes::paddings);
  call.node->set(attributes::Strided::pads, paddings);
  return {};
}

Result<void> reshape_by_attribute(UpgradeCall& call) {
  const AttributeValue* found = call.node->find_attribute(old_attributes::shape.name);
  if (found == nullptr || !std::holds_alternative<std::vector<int64_t>>(*found))
    return bad_attribute(call, "shape", "a list of integers");
  std::vector<int64_t> shape = std::get<std::vector<int64_t>>(*found);
  call.node->remove(old_attributes::shape);
  call.node->set_input(1, call.constant(std::move(shape)));
  return {};
}

Result<void> selu_defaults(UpgradeCall& call) {
  if (!call.node->has(attributes::Selu::alpha)) call.node->set(attributes::Selu::alpha, 1.6732F);
  if (!call.node->has(attributes::Selu::gamma)) call.node->set(attributes::Selu::gamma, 1.0507F);
  return {};
}

Result<void> split_by_floats(UpgradeCall& call) {
  if (call.node->input(1) != nullptr)
    call.node->set_input(1, cast_to_i64(call, call.node->input(1)));
  return {};
}

// Makes repeats that are 1 for every axis but the given one: a one-hot vector with 1 for off and
// `tiles` for on.
Result<void> tile_along_axis(UpgradeCall& call) {
  Node& node = *call.node;
  const Type& type = node.input(0)->type();
  const double max_axis =
      type.is_tensor() && type.ranked ? static_cast<double>(type.rank()) - 1 : 63;
  SLUICE_TRY(check_whole(call, 1, "tiles", 0x1p53));
  SLUICE_TRY(check_whole(call, 2, "axis", max_axis));
  Value* tiles = reshape_to(call, cast_to_i64(call, node.input(1)), {1});
  Value* axis = reshape_to(call, cast_to_i64(call, node.input(2)), {});
  Value* rank = call.add_before(Op::kShape, {call.add_before(Op::kShape, {node.input(0)})});
  Value* values = call.add_before(Op::kConcat, {call.constant({1}), tiles});
  values->producer()->set(attributes::Concat::axis, int64_t{0});
  node.set_input(1, call.add_before(Op::kOneHot, {axis, rank, values}));
  node.remove_last_input();
  return {};
}

Result<void> upsample_by_factors(UpgradeCall& call) {
  Node& node = *call.node;
  std::vector<float> scales = {1, 1};
  for (const FloatAttribute& scale : {old_attributes::height_scale, old_attributes::width_scale}) {
    if (!node.has(scale)) return bad_attribute(call, scale.name, "there");
    scales.push_back(node.get(scale));
    node.remove(scale);
  }
  node.set(old_attributes::scales, std::move(scales));
  return {};
}

}  // namespace sluice
