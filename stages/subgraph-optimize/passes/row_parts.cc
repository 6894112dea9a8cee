#include "stages/subgraph-optimize/passes/row_parts.h"

#include <algorithm>

#include "common/ops/attributes.h"
#include "common/symbolic/nominal.h"

namespace sluice {
namespace {

// Of an axis whose entries are the parts: the most, and how many elements are behind each.
constexpr double kMaxEntries = 4096, kMinBehind = 64;

// A reduced axis before others whose entries are enough parts, and not too many.
std::optional<Division> find_whole_axis(const Value& x, const std::vector<bool>& reduced,
                                        double wanted) {
  const size_t rank = x.type().dims.size();
  for (size_t i = 0; i < rank; ++i) {
    double behind = 1;
    for (size_t k = i + 1; k < rank; ++k)
      if (reduced[k]) behind *= nominal_extent(x, k);
    const double extent = nominal_extent(x, i);
    if (reduced[i] && behind >= kMinBehind && extent >= wanted / 4 && extent <= kMaxEntries)
      return Division{i, 0};
  }
  return std::nullopt;
}

// The first reduced axis of a known extent that is long enough, else the longest.
std::optional<Division> find_divided_axis(const Value& x, const std::vector<bool>& reduced,
                                          int64_t wanted) {
  const std::vector<Dim>& dims = x.type().dims;
  std::optional<size_t> axis;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i] || !dims[i].is_fixed() || (axis && dims[*axis].value >= wanted)) continue;
    if (!axis || dims[i].value > dims[*axis].value) axis = i;
  }
  if (!axis || dims[*axis].value < 2) return std::nullopt;
  return Division{*axis, even_parts(dims[*axis].value, wanted)};
}

// The extents of the axes in [from, to), as a value.
void add_extents(FusedBuilder& b, Value& x, int64_t from, int64_t to, std::vector<Value*>& shape) {
  if (from == to) return;
  shape.push_back(&b.node(Op::kShape, {&x}));
  shape.back()->producer()->set(attributes::Shape::start, from);
  shape.back()->producer()->set(attributes::Shape::end, to);
}

}  // namespace

double nominal_extent(const Value& x, size_t axis) {
  const Module& module = x.graph().module();
  const Dim& dim = x.type().dims[axis];
  return static_cast<double>(
      dim.is_fixed() ? dim.value
                     : nominal_value(module.expressions, static_cast<ExpressionId>(dim.value)));
}

double nominal_elements(const Value& x) {
  double elements = 1;
  for (size_t i = 0; i < x.type().dims.size(); ++i) elements *= nominal_extent(x, i);
  return elements;
}

int64_t even_parts(int64_t extent, int64_t parts) {
  parts = std::min(parts, extent);
  for (int64_t even = parts; even > parts / 2; --even)
    if (extent % even == 0) return even;
  return parts;
}

std::optional<Division> find_division(const Value& x, const std::vector<bool>& reduced,
                                      int64_t wanted) {
  const auto whole = find_whole_axis(x, reduced, static_cast<double>(wanted));
  return whole ? whole : find_divided_axis(x, reduced, wanted);
}

int64_t part_extent(const std::vector<Dim>& dims, const Division& division) {
  return (dims[division.axis].value + division.parts - 1) / division.parts;
}

Value& add_divided(FusedBuilder& b, Value& x, const std::vector<Dim>& dims,
                   const Division& division, Value& fill) {
  const auto rank = static_cast<int64_t>(dims.size()), axis = static_cast<int64_t>(division.axis);
  const int64_t extent = part_extent(dims, division);
  const int64_t behind = extent * division.parts - dims[division.axis].value;
  Value* whole = &x;
  if (behind > 0) {
    std::vector<int64_t> pads(2 * dims.size(), 0);
    pads[dims.size() + division.axis] = behind;
    whole = &b.node(Op::kPad, {&x, &b.longs(pads), &fill});
  }
  std::vector<Value*> shape;
  add_extents(b, x, 0, axis, shape);
  shape.push_back(&b.longs({division.parts, extent}));
  add_extents(b, x, axis + 1, rank, shape);
  Value* target = shape[0];
  if (shape.size() > 1) {
    target = &b.node(Op::kConcat, shape);
    target->producer()->set(attributes::Concat::axis, int64_t{0});
  }
  return b.node(Op::kReshape, {whole, target});
}

}  // namespace sluice
