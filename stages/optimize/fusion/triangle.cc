#include "stages/optimize/fusion/triangle.h"

#include <algorithm>

#include "common/base/half.h"
#include "common/eval/eval.h"
#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/fusion/decomposition.h"

namespace sluice {
namespace {

// More nodes than exporters write between a constant and the mask.
constexpr int kMaxTriangleDepth = 8;
// Larger constants are not read: a mask of bools for 4,096 positions.
constexpr uint64_t kMaxBytes = uint64_t{1} << 24;

bool is_matrix(const Type& type) {
  return type.is_tensor() && type.ranked && type.rank() >= 2 &&
         std::all_of(type.dims.begin(), type.dims.end() - 2,
                     [](const Dim& dim) { return dim == Dim::fixed(1); });
}

bool has_same_matrix(const Value& a, const Value& b) {
  return is_matrix(a.type()) && is_matrix(b.type()) &&
         std::equal(a.type().dims.end() - 2, a.type().dims.end(), b.type().dims.end() - 2);
}

// Returns whether a constant, and what it is computed from, is small enough.
bool is_read(const Module& module, const Segment& segment) {
  return segment.size <= kMaxBytes &&
         std::all_of(segment.inputs.begin(), segment.inputs.end(),
                     [&](SegmentId input) { return module.segment(input).size <= kMaxBytes; });
}

template <typename T>
std::optional<Triangle> read_elements(std::span<const T> elements, size_t rows, size_t columns,
                                      double (*number)(T)) {
  if (rows == 0 || columns < 2) return std::nullopt;
  const T lower = elements[0], upper = elements[1];
  for (size_t row = 0; row < rows; ++row) {
    const auto line = elements.subspan(row * columns, columns);
    const auto end = line.begin() + static_cast<ptrdiff_t>(std::min(row + 1, columns));
    if (std::any_of(line.begin(), end, [&](T element) { return element != lower; }) ||
        std::any_of(end, line.end(), [&](T element) { return element != upper; }))
      return std::nullopt;
  }
  return Triangle{number(lower), number(upper)};
}

std::optional<Triangle> read_tensor(const Tensor& tensor) {
  const auto rows = static_cast<size_t>(tensor.dims[tensor.dims.size() - 2]);
  const auto columns = static_cast<size_t>(tensor.dims.back());
  switch (tensor.dtype) {
    case DType::kBool:
    case DType::kU8:
      return read_elements<uint8_t>(tensor.as<uint8_t>(), rows, columns,
                                    [](uint8_t x) { return static_cast<double>(x); });
    case DType::kF32:
      return read_elements<float>(tensor.as<float>(), rows, columns,
                                  [](float x) { return static_cast<double>(x); });
    case DType::kF16:
      return read_elements<uint16_t>(tensor.as<uint16_t>(), rows, columns, [](uint16_t x) {
        return static_cast<double>(half_to_float(x));
      });
    case DType::kBF16:
      return read_elements<uint16_t>(tensor.as<uint16_t>(), rows, columns, [](uint16_t x) {
        return static_cast<double>(bf16_to_float(x));
      });
    default:
      return std::nullopt;
  }
}

// Returns whether a Slice starts at the first element of every axis and leaves out none between.
bool starts_at_first(const Node& slice) {
  const auto starts = constant_ints(slice.input(1));
  if (!starts || std::any_of(starts->begin(), starts->end(), [](int64_t s) { return s != 0; }))
    return false;
  if (slice.input(4) == nullptr) return true;
  const auto steps = constant_ints(slice.input(4));
  return steps && std::all_of(steps->begin(), steps->end(), [](int64_t s) { return s == 1; });
}

// Returns the number that fills a value of any size.
std::optional<double> find_filling(const Value* value) {
  if (const Node* expand = find_maker(value, Op::kExpand)) value = expand->input(0);
  return find_number(value);
}

std::optional<Triangle> read_trilu(const Node& trilu) {
  const auto number = find_filling(trilu.input(0));
  const double diagonal = trilu.input(1) == nullptr ? 0 : find_number(trilu.input(1)).value_or(-1);
  if (!number) return std::nullopt;
  const bool is_upper = trilu.get(attributes::Trilu::upper) != 0;
  if (is_upper && diagonal == 1) return Triangle{0, *number};
  return !is_upper && diagonal == 0 ? std::optional(Triangle{*number, 0}) : std::nullopt;
}

Triangle chosen(const Triangle& condition, double yes, double no) {
  return {condition.lower != 0 ? yes : no, condition.upper != 0 ? yes : no};
}

std::optional<Triangle> read_chosen_triangle(const Node& choice, const Triangle& condition) {
  const auto yes = find_number(choice.input(1)), no = find_number(choice.input(2));
  return yes && no ? std::optional(chosen(condition, *yes, *no)) : std::nullopt;
}

std::optional<Triangle> read_cast(const Node& cast, const Triangle& source) {
  if (cast.output().type().dtype == DType::kBool) return chosen(source, 1, 0);
  return cast.input(0)->type().dtype == DType::kBool ? std::optional(source) : std::nullopt;
}

// Reads what a node makes of a triangle, each of whose elements it changes alike.
std::optional<Triangle> read_changed(const Node& node, const Triangle& source) {
  switch (node.op()) {
    case Op::kNot:
      return chosen(source, 0, 1);
    case Op::kCast:
      return read_cast(node, source);
    case Op::kWhere:
      return read_chosen_triangle(node, source);
    case Op::kReshape:
    case Op::kUnsqueeze:
    case Op::kSqueeze:
      return source;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Triangle> TriangleReader::read(const Value& value) { return read_at(value, 0); }

std::optional<Triangle> TriangleReader::read_at(const Value& value, int depth) {
  if (!is_matrix(value.type()) || depth == kMaxTriangleDepth) return std::nullopt;
  if (value.is_constant() && !value.is_input()) return read_constant(value);
  return value.producer() == nullptr ? std::nullopt : read_node(*value.producer(), depth);
}

std::optional<Triangle> TriangleReader::read_constant(const Value& value) {
  const auto [known, is_new] = constants_.try_emplace(value.segment());
  const Module& module = value.graph().module();
  if (!is_new || !is_read(module, module.segment(value.segment()))) return known->second;
  if (const auto tensor = evaluate_segment(module, value.segment()); tensor.ok())
    known->second = read_tensor(*tensor);
  return known->second;
}

std::optional<Triangle> TriangleReader::read_node(const Node& node, int depth) {
  if (node.op() == Op::kTrilu) return read_trilu(node);
  if (node.input(0) == nullptr) return std::nullopt;
  const auto source = read_at(*node.input(0), depth + 1);
  if (!source) return std::nullopt;
  if (node.op() == Op::kSlice) return starts_at_first(node) ? source : std::nullopt;
  return has_same_matrix(*node.input(0), node.output()) ? read_changed(node, *source)
                                                        : std::nullopt;
}

}  // namespace sluice
