#include "common/ops/infer_call.h"

#include <algorithm>

#include "common/ops/refine.h"
#include "common/ops/small_constant.h"

namespace sluice {
namespace {

const Type kUnknownType;

std::string dims_text(const Module& module, const Shape& shape) {
  return shape ? type_text(module, Type::tensor(DType::kUndefined, *shape)).substr(1)
               : "of unknown rank";
}

std::string one_dim_text(const Module& module, const Dim& dim) {
  const std::string text = dims_text(module, Dims{dim});
  return text.substr(1, text.size() - 2);
}

std::string set_text(uint32_t set) {
  std::string text;
  for (int i = 1; i < kDTypeCount; ++i) {
    if ((set >> i & 1) != 0)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", dtype_name(static_cast<DType>(i)));
  }
  return text;
}

// Returns whether two sizes that a node of the root graph needs to be equal are known in a run
// only.
bool only_a_run_compares(const Graph& graph, const Dim& a, const Dim& b) {
  if (a == b || a.is_unknown() || b.is_unknown()) return false;
  if (graph.id() != graph.module().root().id()) return false;
  return !DimMath(graph.module()).is_equal(a, b);
}

}  // namespace

InferCall::InferCall(Node& node, ValueFacts& facts, int body_depth)
    : node(node),
      facts(facts),
      module(node.graph().module()),
      math(module),
      body_depth(body_depth) {}

const Type& InferCall::input_type(size_t index) const {
  return has_input(index) ? node.input(index)->type() : kUnknownType;
}

DType InferCall::dtype(size_t index) const {
  const Type& type = input_type(index);
  return type.is_tensor() ? type.dtype : DType::kUndefined;
}

Shape InferCall::shape(size_t index) const {
  const Type& type = input_type(index);
  return type.is_tensor() && type.ranked ? Shape(type.dims) : std::nullopt;
}

Dim InferCall::dim(size_t index, size_t axis) const {
  const Type& type = input_type(index);
  return type.is_tensor() && type.ranked && axis < type.dims.size() ? type.dims[axis]
                                                                    : Dim::unknown();
}

std::string InferCall::input_name(size_t index) const {
  const Value* value = node.input(index);
  return value == nullptr || value->name().empty() ? fmt::format("input {}", index)
                                                   : fmt::format("input '{}'", value->name());
}

Result<void> InferCall::expect_dtype(size_t index, uint32_t set) const {
  const DType found = dtype(index);
  if (found == DType::kUndefined || (set >> static_cast<int>(found) & 1) != 0) return {};
  return bad_node("{} is {}, expected one of {}", input_name(index), dtype_name(found),
                  set_text(set));
}

Result<void> InferCall::expect_same_dtype(size_t index, size_t other) const {
  const DType a = dtype(index);
  const DType b = dtype(other);
  if (a == b || a == DType::kUndefined || b == DType::kUndefined) return {};
  return bad_node("{} is {}, but {} is {}", input_name(index), dtype_name(a), input_name(other),
                  dtype_name(b));
}

Result<void> InferCall::expect_rank(size_t index, int64_t low, int64_t high) const {
  const Type& type = input_type(index);
  if (!type.is_tensor() || !type.ranked || (type.rank() >= low && type.rank() <= high)) return {};
  const std::string expected = low == high         ? fmt::format("{}", low)
                               : high == INT64_MAX ? fmt::format("at least {}", low)
                                                   : fmt::format("{} to {}", low, high);
  return bad_shape("{} has rank {}, expected {}", input_name(index), type.rank(), expected);
}

Result<void> InferCall::expect_one_element(size_t index) const {
  const Shape dims = shape(index);
  if (!dims || dims->empty()) return {};
  const Dim count = dims->size() == 1 ? (*dims)[0] : Dim::fixed(0);
  if (!count.is_fixed() || count.value == 1) return {};
  return bad_shape("{} has shape {}, expected one element", input_name(index),
                   dims_text(module, dims));
}

Result<Dim> InferCall::unify(const Dim& a, const Dim& b, std::string_view what) {
  const auto dim = math.unify(a, b);
  if (!dim) return bad_shape("{} differ: {}", what, dims_text(module, Dims{a, b}));
  require_equal(a, b, what);
  return *dim;
}

Result<void> InferCall::expect_multiple(const Dim& dim, const Dim& divisor, std::string_view what) {
  const Dim whole = math.multiply(math.floor_divide(dim, divisor), divisor);
  if (!math.is_differing(dim, whole)) {
    require_equal(
        dim, whole,
        fmt::format("{} and the multiple of {} below", what, one_dim_text(module, divisor)));
    return {};
  }
  return bad_shape("{} are {}, expected a multiple of {}", what, one_dim_text(module, dim),
                   one_dim_text(module, divisor));
}

Result<void> InferCall::expect_max(const Dim& dim, const Dim& high, std::string_view what) {
  const Dim lower = math.minimum(dim, high);
  if (!math.is_differing(dim, lower)) {
    require_equal(dim, lower, what);
    return {};
  }
  return bad_shape("{} are {}, expected at most {}", what, one_dim_text(module, dim),
                   one_dim_text(module, high));
}

Result<void> InferCall::expect_min(const Dim& dim, int64_t low, std::string_view what) {
  if (node.graph().id() != 0) return {};
  if (!math.require_min(dim, low))
    return bad_shape("{} is {}, expected at least {}", what, one_dim_text(module, dim), low);
  if (math.bounds(dim).low < low) require_equal(dim, math.maximum(dim, Dim::fixed(low)), what);
  return {};
}

void InferCall::require_equal(const Dim& a, const Dim& b, std::string_view what) {
  if (!only_a_run_compares(node.graph(), a, b)) return;
  module.requirements.add(math.expression(a), math.expression(b),
                          fmt::format("{}: {}", node.label(), what));
}

Result<Shape> InferCall::unify(const Shape& a, const Shape& b, std::string_view what) {
  if (!a) return b;
  if (!b) return a;
  if (a->size() != b->size()) {
    return bad_shape("{} differ: {} and {}", what, dims_text(module, a), dims_text(module, b));
  }
  Dims dims;
  for (size_t i = 0; i < a->size(); ++i) {
    const auto dim = math.unify((*a)[i], (*b)[i]);
    if (!dim)
      return bad_shape("{} differ: {} and {}", what, dims_text(module, a), dims_text(module, b));
    require_equal((*a)[i], (*b)[i], fmt::format("dims {} of {}", i, what));
    dims.push_back(*dim);
  }
  return Shape(dims);
}

Result<Shape> InferCall::broadcast(const Shape& a, const Shape& b) {
  if (!a || !b) return Shape();
  const bool a_longer = a->size() >= b->size();
  Dims dims = a_longer ? *a : *b;
  const Dims& other = a_longer ? *b : *a;
  const size_t offset = dims.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    const auto dim = math.broadcast(dims[offset + i], other[i]);
    if (!dim)
      return bad_shape("shapes {} and {} do not broadcast", dims_text(module, a),
                       dims_text(module, b));
    dims[offset + i] = *dim;
  }
  return Shape(std::move(dims));
}

Result<Shape> InferCall::broadcast_inputs(size_t first, size_t count) {
  Shape result = shape(first);
  for (size_t i = first + 1; i < first + count; ++i) {
    if (!has_input(i)) continue;
    SLUICE_ASSIGN(result, broadcast(result, shape(i)));
  }
  return result;
}

Result<int64_t> InferCall::axis(int64_t axis, int64_t rank, bool end) const {
  const int64_t high = end ? rank : rank - 1;
  if (axis < -rank || axis > high)
    return bad_shape("axis {} is outside [{}, {}]", axis, -rank, high);
  return axis < 0 ? axis + rank : axis;
}

Result<int64_t> InferCall::axis_attribute(const IntAttribute& attribute, int64_t rank,
                                          bool end) const {
  return axis(node.get(attribute), rank, end);
}

Result<std::vector<int64_t>> InferCall::axes(std::span<const int64_t> axes, int64_t rank) const {
  std::vector<int64_t> result;
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (const int64_t given : axes) {
    SLUICE_ASSIGN(const int64_t normal, axis(given, rank));
    if (seen[static_cast<size_t>(normal)]) return bad_shape("axis {} is named twice", given);
    seen[static_cast<size_t>(normal)] = true;
    result.push_back(normal);
  }
  return result;
}

Result<std::vector<int64_t>> InferCall::ints(const IntsAttribute& attribute, size_t count,
                                             int64_t low) const {
  if (!node.has(attribute)) return std::vector<int64_t>(count, attribute.each);
  std::vector<int64_t> values = node.get(attribute);
  if (values.size() != count)
    return bad_shape("attribute '{}' has {} elements, expected {}", attribute.name, values.size(),
                     count);
  const auto bad =
      std::find_if(values.begin(), values.end(), [&](int64_t value) { return value < low; });
  if (bad != values.end())
    return bad_node("attribute '{}' has the element {}, expected at least {}", attribute.name, *bad,
                    low);
  return values;
}

std::optional<Dims> InferCall::value_dims(size_t index) {
  const auto* elements = value(index);
  if (elements == nullptr) return std::nullopt;
  Dims dims;
  for (const ExpressionId element : *elements) dims.push_back(module.make_dim(element));
  return dims;
}

std::optional<std::vector<int64_t>> InferCall::integers(size_t index) {
  const auto* elements = value(index);
  if (elements == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const ExpressionId element : *elements) {
    const auto number = module.expressions.as_constant(element);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<std::vector<double>> InferCall::reals(size_t index) const {
  const bool constant = has_input(index) && node.input(index)->is_constant();
  return constant ? read_small_reals(module, node.input(index)->segment()) : std::nullopt;
}

Result<void> InferCall::give(size_t index, DType dtype, Shape shape) {
  return give_type(index, shape ? Type::tensor(dtype, std::move(*shape)) : Type::unranked(dtype));
}

Result<void> InferCall::give_type(size_t index, const Type& type) {
  if (index >= node.output_count()) return {};
  if (type.is_tensor()) {
    for (const Dim& dim : type.dims) {
      if (dim.is_fixed() && dim.value < 0)
        return bad_shape("its result would have the shape {}", dims_text(module, type.dims));
    }
    // The check treats a dim of 0 as 1: an impossible extent is an error beside a 0, too, and
    // strides are products of extents.
    Type full{TypeKind::kTensor, DType::kU8, true, type.dims, 0};
    for (Dim& dim : full.dims) dim = dim == Dim::fixed(0) ? Dim::fixed(1) : dim;
    if (full.is_fixed() && !full.element_count()) {
      return bad_shape("its result would have too many elements: {}", dims_text(module, type.dims));
    }
  }
  return refine_value(node.output(index), type, node.label(), changed);
}

Dim InferCall::result_dim(size_t output, size_t axis, const Dim& high, int64_t low) {
  if (output >= node.output_count()) return Dim::unknown();
  const Value& value = node.output(output);
  const Type& type = value.type();
  if (type.is_tensor() && type.ranked && axis < type.dims.size() && !type.dims[axis].is_unknown())
    return type.dims[axis];
  ExpressionTable& table = module.expressions;
  size_t number = table.symbol_count();
  std::string name = fmt::format("s{}", number);
  while (table.find_symbol(name)) name = fmt::format("s{}", ++number);
  const SymbolId symbol = table.add_symbol({.name = std::move(name),
                                            .origin = SymbolOrigin::kNodeResult,
                                            .graph = node.graph().id(),
                                            .value = value.id(),
                                            .axis = static_cast<int32_t>(axis),
                                            .low = low,
                                            .high = math.bounds(high).high});
  return Dim::expression(table.symbol_expression(symbol));
}

namespace {

void require_dims(const Value& value, const Type& found, const std::string& where) {
  const Type& known = value.type();
  if (!known.is_tensor() || !found.is_tensor() || known.dims.size() != found.dims.size()) return;
  Module& module = value.graph().module();
  DimMath math(module);
  for (size_t i = 0; i < known.dims.size(); ++i) {
    const Dim &a = known.dims[i], &b = found.dims[i];
    if (!only_a_run_compares(value.graph(), a, b)) continue;
    module.requirements.add(
        math.expression(a), math.expression(b),
        fmt::format("{}: dim {} of '{}', as declared and as computed,", where, i, value.name()));
  }
}

}  // namespace

Result<void> refine_value(Value& value, const Type& found, const std::string& where,
                          bool& changed) {
  Module& module = value.graph().module();
  const auto refined = refine(module, value.type(), found);
  if (!refined) {
    return make_error(ErrorCode::kBadShape, "{}: '{}' is {}, but {} was inferred", where,
                      value.name(), type_text(module, value.type()), type_text(module, found));
  }
  if (value.type_id() != module.intern(found)) require_dims(value, found, where);
  const TypeId id = module.intern(*refined);
  changed = changed || id != value.type_id();
  value.set_type(id);
  return {};
}

Shape unknown_dims(const Dim& rank) {
  if (!rank.is_fixed() || rank.value < 0 || rank.value > kMaxRank) return std::nullopt;
  return Dims(static_cast<size_t>(rank.value), Dim::unknown());
}

Result<void> expect_within(InferCall& call, const Dims& data, int64_t axis) {
  SLUICE_TRY(call.expect_rank(1, rank_of(data)));
  const Shape indices = call.shape(1);
  for (size_t i = 0; indices && i < data.size(); ++i) {
    if (i == static_cast<size_t>(axis)) continue;
    SLUICE_TRY(
        call.expect_max((*indices)[i], data[i], fmt::format("dims {} of indices and data", i)));
  }
  return {};
}

Dims without_axes(const Dims& dims, std::span<const int64_t> axes, bool keep_as_one) {
  Dims result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) {
      result.push_back(dims[i]);
    } else if (keep_as_one) {
      result.push_back(Dim::fixed(1));
    }
  }
  return result;
}

}  // namespace sluice
