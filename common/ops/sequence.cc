// Sequences and optionals.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/bodies.h"
#include "common/ops/families.h"
#include "common/ops/refine.h"

namespace sluice {
namespace {

// Returns the element type of a sequence or optional input, or the unknown type when it is not
// known.
Result<Type> element_of(const InferCall& call, size_t index, TypeKind kind) {
  const Type& type = call.input_type(index);
  if (type.kind == TypeKind::kUnknown) return Type();
  if (type.kind != kind)
    return call.bad_node("{} is not {}", call.input_name(index),
                         kind == TypeKind::kSequence ? "a sequence" : "an optional");
  return call.module.type(type.element);
}

Result<Type> common_type(const InferCall& call, const Type& a, const Type& b) {
  const auto both = generalize(call.module, a, b);
  if (both) return *both;
  return call.bad_node("a sequence cannot hold both {} and {}", type_text(call.module, a),
                       type_text(call.module, b));
}

Result<void> give_sequence(InferCall& call, size_t output, const Type& element) {
  return call.give_type(output, Type::sequence(call.module.intern(element)));
}

Result<void> infer_construct(InferCall& call) {
  Type element = call.input_type(0);
  for (size_t i = 1; i < call.input_count(); ++i) {
    SLUICE_ASSIGN(element, common_type(call, element, call.input_type(i)));
  }
  return give_sequence(call, 0, element);
}

Result<void> infer_empty(InferCall& call) {
  const int64_t number =
      call.node.get(attributes::SequenceEmpty::dtype, static_cast<int64_t>(DType::kF32));
  if (number <= 0 || number > INT32_MAX || !dtype_is_valid(static_cast<int>(number)))
    return call.bad_node("attribute 'dtype' is {}", number);
  return give_sequence(call, 0, Type::unranked(static_cast<DType>(number)));
}

Result<void> infer_at(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  SLUICE_ASSIGN(const Type element, element_of(call, 0, TypeKind::kSequence));
  return call.give_type(0, element);
}

Result<void> infer_insert(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(2, kIndexSet));
  SLUICE_ASSIGN(Type element, element_of(call, 0, TypeKind::kSequence));
  SLUICE_ASSIGN(element, common_type(call, element, call.input_type(1)));
  return give_sequence(call, 0, element);
}

Result<void> infer_erase(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  SLUICE_ASSIGN(const Type element, element_of(call, 0, TypeKind::kSequence));
  return give_sequence(call, 0, element);
}

Result<void> infer_length(InferCall& call) {
  SLUICE_TRY(element_of(call, 0, TypeKind::kSequence));
  return call.give(0, DType::kI64, Dims{});
}

// Infers the pieces along an axis: of one given size (the last may be smaller), of given sizes, or
// single slices.
Result<void> infer_split_to_sequence(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  SLUICE_TRY(call.expect_rank(1, 0, 1));
  Shape shape = call.shape(0);
  if (!shape) return give_sequence(call, 0, Type::unranked(call.dtype(0)));
  SLUICE_ASSIGN(const int64_t axis,
                call.axis_attribute(attributes::SplitToSequence::axis, rank_of(*shape)));
  Dim& dim = (*shape)[static_cast<size_t>(axis)];
  if (!call.has_input(1)) {
    dim = Dim::fixed(1);
    if (call.node.get(attributes::SplitToSequence::keepdims) == 0)
      shape->erase(shape->begin() + axis);
  } else {
    const auto sizes = call.integers(1);
    const bool scalar = call.input_type(1).ranked && call.input_type(1).rank() == 0;
    if (sizes && scalar && sizes->front() < 1)
      return call.bad_shape("a piece has the size {}", sizes->front());
    const bool whole = sizes && scalar && dim.is_fixed() && dim.value % sizes->front() == 0;
    dim = whole ? Dim::fixed(sizes->front()) : Dim::unknown();
  }
  return give_sequence(call, 0, Type::tensor(call.dtype(0), *shape));
}

Result<void> infer_concat_from_sequence(InferCall& call) {
  SLUICE_ASSIGN(const Type element, element_of(call, 0, TypeKind::kSequence));
  if (!element.is_tensor() || !element.ranked) return call.give(0, element.dtype, std::nullopt);
  Dims dims = element.dims;
  const bool added = call.node.get(attributes::ConcatFromSequence::new_axis) != 0;
  SLUICE_ASSIGN(const int64_t axis, call.axis_attribute(attributes::ConcatFromSequence::axis,
                                                        element.rank() + (added ? 1 : 0)));
  if (added) {
    dims.insert(dims.begin() + axis, Dim::unknown());
  } else {
    dims[static_cast<size_t>(axis)] = Dim::unknown();
  }
  return call.give(0, element.dtype, std::move(dims));
}

// Infers SequenceMap. The body maps elements of the first input, and of further sequences, to
// elements of the results; captures are passed unchanged.
Result<void> infer_map(InferCall& call) {
  SLUICE_ASSIGN(Graph * body, find_body(call, attributes::SequenceMap::body));
  SLUICE_TRY(check_body(call, *body, static_cast<int64_t>(call.input_count()),
                        static_cast<int64_t>(call.node.output_count())));
  SLUICE_TRY(element_of(call, 0, TypeKind::kSequence));
  std::vector<BodyInput> inputs;
  for (size_t i = 0; i < call.input_count(); ++i) {
    const Type& type = call.input_type(i);
    const bool captured = i + body->captures >= call.input_count();
    inputs.push_back(
        {type.kind == TypeKind::kSequence && !captured ? call.module.type(type.element) : type});
  }
  SLUICE_TRY(infer_body(call, *body, inputs, false, call.changed));
  for (size_t i = 0; i < call.node.output_count(); ++i)
    SLUICE_TRY(give_sequence(call, i, body->outputs()[i]->type()));
  return {};
}

Result<void> infer_optional(InferCall& call) {
  if (call.has_input(0))
    return call.give_type(0, Type::optional(call.module.intern(call.input_type(0))));
  const AttributeValue* type = call.node.find_attribute(attributes::Optional::type.name);
  if (type == nullptr) return call.bad_node("it has neither an input nor attribute 'type'");
  return call.give_type(0, Type::optional(std::get<TypeRef>(*type).id));
}

Result<void> infer_get_element(InferCall& call) {
  const Type& type = call.input_type(0);
  return call.give_type(0,
                        type.kind == TypeKind::kOptional ? call.module.type(type.element) : type);
}

Result<void> infer_has_element(InferCall& call) { return call.give(0, DType::kBool, Dims{}); }

constexpr OpRow kSequenceRows[] = {
    {Op::kConcatFromSequence, 1, 1, 1, 1, kAnyKind, attribute_rows::ConcatFromSequence,
     infer_concat_from_sequence},
    {Op::kOptional, 0, 1, 1, 1, kAnyKind, attribute_rows::Optional, infer_optional},
    {Op::kOptionalGetElement, 1, 1, 1, 1, kAnyKind, {}, infer_get_element},
    {Op::kOptionalHasElement, 0, 1, 1, 1, kAnyKind, {}, infer_has_element},
    {Op::kSequenceAt, 2, 2, 1, 1, kAnyKind, {}, infer_at},
    {Op::kSequenceConstruct, 1, -1, 1, 1, kAnyKind, {}, infer_construct},
    {Op::kSequenceEmpty, 0, 0, 1, 1, kAnyKind, attribute_rows::SequenceEmpty, infer_empty},
    {Op::kSequenceErase, 1, 2, 1, 1, kAnyKind, {}, infer_erase},
    {Op::kSequenceInsert, 2, 3, 1, 1, kAnyKind, {}, infer_insert},
    {Op::kSequenceLength, 1, 1, 1, 1, kAnyKind, {}, infer_length},
    {Op::kSequenceMap, 1, -1, 1, -1, kControlFlow | kAnyKind, attribute_rows::SequenceMap,
     infer_map},
    {Op::kSplitToSequence, 1, 2, 1, 1, kAnyKind, attribute_rows::SplitToSequence,
     infer_split_to_sequence},
};

}  // namespace

std::span<const OpRow> sequence_rows() { return kSequenceRows; }

}  // namespace sluice
